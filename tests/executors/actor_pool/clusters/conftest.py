"""Three nodes on this machine with a CPU each; one has two GPUs, one has a disk."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")


@contextmanager
def three_nodes() -> Iterator[Any]:
    from clusterkit import grid

    with (
        tempfile.TemporaryDirectory(prefix="ca-", ignore_cleanup_errors=True) as folder,
        grid(
            folder, {"num_cpus": 1, "num_gpus": 2}, {"num_cpus": 1, "resources": {"disk": 2}}
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def three(one_ray: Any) -> Any:
    return one_ray.use(three_nodes, Path(__file__).parent)


@pytest.fixture
def changing(three: Any) -> Iterator[Any]:
    """The same cluster. Nodes that a test adds are removed after it."""
    yield three
    three.kill_added()
