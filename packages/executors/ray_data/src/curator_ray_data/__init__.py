"""The executor that runs a plan as a Ray Data job: `RayDataExecutor`."""

from curator_core.plugins.exports import lazy_exports

from curator_ray_data import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
