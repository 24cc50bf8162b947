"""Measures of recordings, filters by them, and what levels their loudness."""
