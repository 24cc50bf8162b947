# Generated from the package's list of public names: run `hatch run generate`.
from curator_actor_pool.executor import RayActorPoolExecutor as RayActorPoolExecutor
from curator_actor_pool.options import ActorPoolOptions as ActorPoolOptions

__all__ = [
    "ActorPoolOptions",
    "RayActorPoolExecutor",
]
