"""The executor that keeps every worker of a Ray cluster busy: `StreamingExecutor`."""

from curator_core.plugins.exports import lazy_exports

from curator_streaming import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
