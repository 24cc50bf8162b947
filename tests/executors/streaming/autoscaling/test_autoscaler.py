"""Ray's autoscaler starts a node for a run, and removes it after the run."""

import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ray")

import ray
from clusterkit import Where, autoscaling_cluster, by, met, ran
from curator_core import Resources
from curator_ray.cluster.autoscaler import find_autoscaler
from curator_ray.cluster.connection import connected
from waitkit import eventually

pytestmark = pytest.mark.soak  # half a minute; test_autoscaling.py has a fake one in every run

GPU_TYPE = {
    "resources": {"CPU": 1, "GPU": 1, "object_store_memory": 100_000_000},
    "node_config": {},
    "min_workers": 0,
    "max_workers": 1,
}


@pytest.fixture
def growing(one_ray: Any) -> Iterator[None]:
    """A head with two CPUs, and a type of node with a GPU, of which there is none at first."""
    one_ray.close()
    with (
        tempfile.TemporaryDirectory(prefix="cg-", ignore_cleanup_errors=True) as folder,
        autoscaling_cluster(folder, 2, gpu=GPU_TYPE) as address,
        connected(address),
    ):
        yield


def test_a_gpu_node_comes_up_is_used_and_goes_away(growing: None) -> None:
    assert eventually(lambda: find_autoscaler() is not None, 120)
    [head] = ray.nodes()
    gpu = Where().with_(name="gpu", resources=Resources(cpus=0.5, gpus=1))

    result = ran([Where().with_(name="first"), gpu])

    assert by(met(result, "gpu"), "devices") == {"0": 40}
    assert head["NodeID"] not in by(met(result, "gpu"), "node")
    assert eventually(lambda: sum(node["Alive"] for node in ray.nodes()) == 1, 120)
