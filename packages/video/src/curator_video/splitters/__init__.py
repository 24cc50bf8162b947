"""Splitters: divide videos into clips."""
