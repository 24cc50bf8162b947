"""Rows with transcripts become documents for text stages."""
