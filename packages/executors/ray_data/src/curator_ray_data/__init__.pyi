# Generated from the package's list of public names: run `hatch run generate`.
from curator_ray_data.executor import RayDataExecutor as RayDataExecutor
from curator_ray_data.options import RayDataOptions as RayDataOptions

__all__ = [
    "RayDataExecutor",
    "RayDataOptions",
]
