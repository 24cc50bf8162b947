"""Mixing: choose which documents go into a corpus, how often, and in which order."""
