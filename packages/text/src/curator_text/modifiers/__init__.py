"""Modifiers: stages that rewrite texts, grouped by what they change."""
