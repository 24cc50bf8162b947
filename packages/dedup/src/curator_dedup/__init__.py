"""Deduplication on ordinary CPUs, at any size, on any executor."""

from curator_core.plugins.exports import lazy_exports

from curator_dedup import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
