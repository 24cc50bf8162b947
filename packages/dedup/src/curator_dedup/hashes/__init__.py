"""Duplicates by hashes that may differ in a few bits, of whatever has rows with an id."""
