"""Transcripts: made, compared with what was said, and doubted."""
