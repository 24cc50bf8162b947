"""Metrics: what a run tells Prometheus while it is under way, and how to look at it."""
