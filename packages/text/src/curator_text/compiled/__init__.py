"""Compiled forms of rules: the same scores and decisions, from the bytes of an Arrow column."""
