"""Compiled forms of rules: the same scores and decisions, computed from Arrow buffers."""
