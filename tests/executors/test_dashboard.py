"""A real Prometheus reads a run of every executor on Ray: the same names, the run's own counts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusterkit import two_cpus
from curator_core import Executor
from curator_core.plugins.registry import plugins
from prometheuskit import Prometheus, check_dashboard, needed, running_prometheus

pytestmark = needed

OTHERS = [pytest.param(name, marks=pytest.mark.soak) for name in ("actor_pool", "ray_data")]
"""The metrics are those of every executor (test_snapshots.py); core serves them."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        yield running


@pytest.mark.parametrize("name", ["streaming", *OTHERS])
def test_the_dashboard_shows_a_run(name: str, one_ray: Any, prometheus: Prometheus) -> None:
    one_ray.use(two_cpus, Path(__file__).parent)
    executor: Executor = plugins().executors.load(name)()
    check_dashboard(executor, prometheus, name)
