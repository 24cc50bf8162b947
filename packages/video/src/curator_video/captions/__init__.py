"""Captions: models describe what happens in clips."""
