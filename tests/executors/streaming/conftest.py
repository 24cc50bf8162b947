"""One private Ray for all tests of this folder."""

from collections.abc import Iterator

import pytest

pytest.importorskip("ray")


@pytest.fixture(scope="package")
def private_ray() -> Iterator[None]:
    """Small, and started once: that is what takes longest."""
    from curator_ray.connecting import connected
    from curator_ray.starting import PrivateCluster

    with connected(private=PrivateCluster(cpus=2, object_store_gb=0.3)):
        yield
