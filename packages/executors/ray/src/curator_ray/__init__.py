"""What the executors on Ray share: connecting, facts about the cluster, workers, hygiene."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curator_ray.connecting import Connection, connected
    from curator_ray.errors import ClusterError
    from curator_ray.executors import RayExecutor
    from curator_ray.starting import PrivateCluster

__all__ = [
    "ClusterError",
    "Connection",
    "PrivateCluster",
    "RayExecutor",
    "connected",
]

_HOMES = {
    "ClusterError": "errors",
    "Connection": "connecting",
    "PrivateCluster": "starting",
    "RayExecutor": "executors",
    "connected": "connecting",
}


def __getattr__(name: str) -> Any:
    """Import Ray, and what is built on it, only when it is used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
