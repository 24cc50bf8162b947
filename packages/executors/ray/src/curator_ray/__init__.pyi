# Generated from the package's list of public names: run `hatch run generate`.
from curator_ray.connecting import Connection as Connection
from curator_ray.connecting import connected as connected
from curator_ray.errors import ClusterError as ClusterError
from curator_ray.executors import RayExecutor as RayExecutor
from curator_ray.starting import PrivateCluster as PrivateCluster
