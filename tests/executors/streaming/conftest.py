"""One private Ray for the tests that need one; the scheduler is tried without."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("curator_streaming") is None:
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="package")
def private_ray() -> Iterator[None]:
    """Small, and started once: that is what takes longest."""
    pytest.importorskip("ray")
    from curator_ray.connecting import connected
    from curator_ray.starting import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield
