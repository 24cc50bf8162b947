"""Removal: the last pass over documents, which does what was decided on them."""
