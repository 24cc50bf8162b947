"""Bloom filters: duplicates left out as the documents come by, in one pass and little memory."""
