"""Captioning: models describe what happens in clips."""
