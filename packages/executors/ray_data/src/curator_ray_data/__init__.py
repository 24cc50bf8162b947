"""The executor that runs a plan as a Ray Data job: `RayDataExecutor`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_ray_data.executor import RayDataExecutor
    from curator_ray_data.options import RayDataOptions

__all__ = [
    "RayDataExecutor",
    "RayDataOptions",
]

_HOMES = {
    "RayDataExecutor": "executor",
    "RayDataOptions": "options",
}


def __getattr__(name: str) -> Any:
    """Import Ray, and what is built on it, only when it is used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
