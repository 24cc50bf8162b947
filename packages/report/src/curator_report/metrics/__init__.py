"""Metrics of running runs, for Prometheus and Grafana."""
