"""Stages for pictures: readers, measures and filters, writers. Encoded bytes are kept unchanged."""

from curator_core.plugins.exports import lazy_exports

from curator_image import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
