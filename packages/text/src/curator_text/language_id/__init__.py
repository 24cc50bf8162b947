"""Identify the language and script of texts."""
