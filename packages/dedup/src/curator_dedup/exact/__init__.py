"""Exact duplicates: documents with equal texts, byte by byte or after normalization."""
