"""Speakers: voice properties and diarization."""
