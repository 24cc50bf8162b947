"""Contamination: find and remove benchmark text in a corpus."""
