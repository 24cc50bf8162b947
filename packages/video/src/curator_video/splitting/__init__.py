"""Splitters: turn videos into clips."""
