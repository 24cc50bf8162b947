"""Cutting: write each clip to its own file."""
