"""Measures of recordings, computed while they are decoded, and loudness normalization."""
