"""One stage after the other on all of a Ray cluster: `RayActorPoolExecutor`."""

from curator_core.plugins.exports import lazy_exports

from curator_actor_pool import plugin

__all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)
