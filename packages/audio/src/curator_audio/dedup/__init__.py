"""Duplicate recordings: equal samples, or the same sound in a different encoding."""
