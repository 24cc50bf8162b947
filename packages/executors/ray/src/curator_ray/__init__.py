"""What the executors on Ray share: connecting, facts about the cluster, workers, hygiene."""

from curator_core.plugins.exports import lazy_exports

EXPORTS = {
    "curator_ray.connecting": (
        "Connection",
        "connected",
    ),
    "curator_ray.errors": ("ClusterError",),
    "curator_ray.executors": ("RayExecutor",),
    "curator_ray.starting": ("PrivateCluster",),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, EXPORTS)
