"""One cluster of three nodes on this machine; shared helpers are in `clusterkit`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")


@contextmanager
def three_nodes() -> Iterator[Any]:
    """A head with one CPU, a node with two GPUs of 40 GB, and a node with a custom resource.

    Ray's sockets are in the folder, and their paths must be short.
    """
    from clusterkit import grid
    from curator_ray.cluster.nodes import GPU_MEMORY_LABEL

    with (
        tempfile.TemporaryDirectory(prefix="cs-", ignore_cleanup_errors=True) as folder,
        grid(
            folder,
            {"num_cpus": 1, "num_gpus": 2, "labels": {GPU_MEMORY_LABEL: "40"}},
            {"num_cpus": 1, "resources": {"disk": 2}},
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def three(one_ray: Any) -> Any:
    return one_ray.use(three_nodes, Path(__file__).parent)


@pytest.fixture
def field(three: Any) -> Iterator[Any]:
    """The same cluster for tests that add and kill nodes; restored afterwards."""
    yield three
    three.kill_added()
