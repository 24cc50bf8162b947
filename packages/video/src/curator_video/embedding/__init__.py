"""Embedding: clips become vectors, such that like clips have like ones."""
