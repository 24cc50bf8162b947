"""What the executors on Ray share: clusters, workers, transfer of tasks, recovery."""

from curator_core.plugins.exports import lazy_exports

EXPORTS = {
    "curator_ray.cluster.connection": (
        "Connection",
        "connected",
    ),
    "curator_ray.errors": ("ClusterError",),
    "curator_ray.executor": ("RayExecutor",),
    "curator_ray.cluster.private": ("PrivateCluster",),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, EXPORTS)
