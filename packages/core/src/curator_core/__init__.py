"""Tasks, stages, resources, pipelines and the executor interface."""

from curator_core import plugin
from curator_core.plugins.exports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
