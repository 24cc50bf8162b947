"""Fuzzy duplicates: documents of nearly the same words, found by their signatures."""
