"""Audio stages: readers, measures, speech segmentation, transcripts, and writers."""

from curator_core.plugins.exports import lazy_exports

from curator_audio import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
