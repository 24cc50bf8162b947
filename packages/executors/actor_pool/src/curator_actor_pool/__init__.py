"""One stage after the other on all of a Ray cluster: `RayActorPoolExecutor`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_actor_pool.executor import RayActorPoolExecutor
    from curator_actor_pool.options import ActorPoolOptions

__all__ = [
    "ActorPoolOptions",
    "RayActorPoolExecutor",
]

_HOMES = {
    "ActorPoolOptions": "options",
    "RayActorPoolExecutor": "executor",
}


def __getattr__(name: str) -> Any:
    """Import Ray, and what is built on it, only when it is used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
