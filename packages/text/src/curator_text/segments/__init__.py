"""Segments: split documents into one row per part, and join them again."""
