"""Filters on header, pixels and columns, and the measures that they use."""
