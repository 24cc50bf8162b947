"""Filters of recordings by their measures or by functions, and scores as columns."""
