# Generated from the package's list of public names: run `hatch run generate`.
from curator_ray.cluster.connection import Connection as Connection
from curator_ray.cluster.connection import connected as connected
from curator_ray.cluster.private import PrivateCluster as PrivateCluster
from curator_ray.errors import ClusterError as ClusterError
from curator_ray.executor import RayExecutor as RayExecutor

__all__ = [
    "ClusterError",
    "Connection",
    "PrivateCluster",
    "RayExecutor",
    "connected",
]
