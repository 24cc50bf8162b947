"""What this package adds to Curator."""

from curator_core import hookimpl

EXPORTS = {
    "curator_ray_data.options": ("RayDataOptions",),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_executors() -> dict[str, str]:
    return {"ray_data": "curator_ray_data.executor:RayDataExecutor"}
