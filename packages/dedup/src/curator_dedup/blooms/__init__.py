"""Bloom filters: streaming deduplication in one pass, with little memory."""
