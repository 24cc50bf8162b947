"""Resizing: scale, crop, pad or re-encode pictures."""
