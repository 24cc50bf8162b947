"""Stages for documents: readers, filters that drop some, modifiers of their text, writers."""

from curator_core.plugins.exports import lazy_exports

from curator_text import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
