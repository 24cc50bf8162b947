"""Clip filters: score clips and drop those outside the limits."""
