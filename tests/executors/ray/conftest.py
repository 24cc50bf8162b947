"""A cluster of two nodes for the tests of this folder, and drivers in processes of their own."""

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil
import pytest

pytest.importorskip("ray")

Script = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def short_path() -> Iterator[str]:
    """Ray creates sockets in it, whose paths must be short."""
    with tempfile.TemporaryDirectory(prefix="ct-", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture
def short_folder() -> Iterator[str]:
    with short_path() as folder:
        yield folder


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A head with 2 CPUs and 2 GPUs of 40 GB, and a node with 1 CPU and a custom resource."""
    import ray
    from curator_ray.cluster.minimal import minimal_nodes
    from curator_ray.cluster.nodes import GPU_MEMORY_LABEL
    from curator_ray.cluster.settings import environment, quiet_ray
    from ray.cluster_utils import Cluster

    with short_path() as folder:
        with environment({"RAY_TMPDIR": folder}), quiet_ray(), minimal_nodes():
            cluster = Cluster(
                initialize_head=True,
                head_node_args={
                    "num_cpus": 2,
                    "num_gpus": 2,
                    "labels": {GPU_MEMORY_LABEL: "40"},
                    "include_dashboard": False,
                    # Notice in a second, not in fifteen, that a node has died.
                    "_system_config": {
                        "health_check_initial_delay_ms": 0,
                        "health_check_period_ms": 200,
                        "health_check_timeout_ms": 10_000,  # a busy node is not dead
                        "health_check_failure_threshold": 3,
                        # A busy worker may need longer than 30 s to tear down.
                        "actor_graceful_shutdown_timeout_ms": 120_000,
                    },
                    "object_store_memory": 200_000_000,
                },
            )
            cluster.add_node(num_cpus=1, resources={"disk": 2}, object_store_memory=200_000_000)
            ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield cluster
        with quiet_ray():
            ray.shutdown()
            cluster.shutdown()


@pytest.fixture(scope="module")
def cluster(one_ray: Any) -> Any:
    return one_ray.use(two_nodes, Path(__file__).parent)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """Start a driver in a process of its own, which does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(text: str, **environment: str) -> "subprocess.Popen[str]":
        file = tmp_path / f"driver{len(started)}.py"
        file.write_text(textwrap.dedent(text))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        process = subprocess.Popen(
            [sys.executable, "-W", "error", str(file)],
            env={**inherited, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


class Marked:
    """Processes with a mark of this test in their environment.

    The same tests may run elsewhere on this machine: names alone would find their processes, too.
    """

    def __init__(self) -> None:
        self._mark = token_hex(8)

    def variable(self, name: str) -> dict[str, str]:
        """Return the variable to start the first of them with."""
        return {"CURATOR_TEST": f"{self._mark} {name}"}

    def __call__(self, name: str) -> list[psutil.Process]:
        """Return all that live."""
        mark = self.variable(name)["CURATOR_TEST"]
        found = []
        for process in psutil.process_iter():
            try:
                is_ours = process.environ().get("CURATOR_TEST") == mark
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def marked() -> Marked:
    return Marked()
