"""What this package adds to Curator."""

from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"actor_pool": "curator_actor_pool.executor:RayActorPoolExecutor"}
