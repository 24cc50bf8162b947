"""Reports of runs: progress on the terminal, closing summaries, pages to keep, and metrics."""

from curator_core.plugins.exports import lazy_exports

from curator_report import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
