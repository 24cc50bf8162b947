"""One private Ray cluster for the tests that need one; the scheduler is tested without."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("curator_streaming") is None:
    collect_ignore_glob = ["*"]


@contextmanager
def two_cpus() -> Iterator[None]:
    from curator_ray.cluster.connection import connected
    from curator_ray.cluster.private import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield


@pytest.fixture(scope="module")
def private_ray(one_ray: Any) -> None:
    pytest.importorskip("ray")
    one_ray.use(two_cpus, Path(__file__).parent)
