"""What this package adds to Curator."""

from curator_core.plugins.hookspecs import hookimpl


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"ray_data": "curator_ray_data.executor:RayDataExecutor"}
