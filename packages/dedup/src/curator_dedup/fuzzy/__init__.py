"""Fuzzy duplicates: documents with nearly the same words, found by their signatures."""
