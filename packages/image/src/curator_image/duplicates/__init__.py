"""Duplicates among pictures: equal files, equal pixels, and hashes that differ in a few bits."""
