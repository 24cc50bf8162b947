"""Clusters of several nodes on this machine; what tests share stands in `clusterkit`."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="package")
def short_folder() -> Iterator[str]:
    """Sockets of Ray lie in it, and their paths must be short."""
    with tempfile.TemporaryDirectory(prefix="cs-", ignore_cleanup_errors=True) as folder:
        yield folder
