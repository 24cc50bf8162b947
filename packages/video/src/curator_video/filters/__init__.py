"""Filters: what a clip has to be to be kept. Each leaves its score on the clip."""
