"""Speakers: what a voice is like, and who speaks when."""
