"""Measures of recordings, filters by them, and loudness normalization."""
