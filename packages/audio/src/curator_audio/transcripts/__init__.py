"""Transcripts: recognition, error rates, and detection of hallucinations."""
