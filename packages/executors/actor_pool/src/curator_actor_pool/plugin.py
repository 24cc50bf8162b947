"""What this package adds to Curator."""

from curator_core import hookimpl

EXPORTS = {
    "curator_actor_pool.options": ("ActorPoolOptions",),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"actor_pool": "curator_actor_pool.executor:RayActorPoolExecutor"}
