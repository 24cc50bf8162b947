"""Exact, fuzzy and semantic deduplication will live here; there is none yet."""
