"""Exact duplicates: documents whose texts are equal, byte by byte or but for their form."""
