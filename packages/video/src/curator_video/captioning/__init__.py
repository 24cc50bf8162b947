"""Captioning: what happens in clips, put into words by models."""
