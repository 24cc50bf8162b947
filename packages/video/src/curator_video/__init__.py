"""Stages for videos: a reader, splitters, clip filters, cutting and writing."""

from curator_core.plugins.exports import lazy_exports

from curator_video import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
