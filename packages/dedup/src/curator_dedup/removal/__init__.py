"""Removal: the last pass over documents, which applies the decisions."""
