"""Splitters: videos become clips."""
