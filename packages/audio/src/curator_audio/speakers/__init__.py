"""Speakers: voice vectors and diarization."""
