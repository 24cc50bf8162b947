"""Clusters: connect to one, or start a private one."""
