"""On a shared cluster the CPUs of a run are reserved with Ray."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging
import time
from typing import Any

import ray
from curator_core import Pipeline, ProcessingStage, Task
from curator_ray.cluster.minimal import minimal_nodes
from curator_streaming.executor import StreamingExecutor

logging.basicConfig(level=logging.WARNING, format="%(message)s")


class Slow(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.05)
        return task


def free():
    return ray.available_resources().get("CPU", 0.0)


def run(expected=None, **config):
    with Pipeline("p", stages=[Slow()]).stream(
        StreamingExecutor(config=config), tasks=[Task(n) for n in range(30)]
    ) as stream:
        next(stream)
        left = free() if expected is None else until_free(expected)
        assert len(list(stream)) == 29
    return left


def hold(seconds):
    time.sleep(seconds)


def until_free(cpus):
    deadline = time.time() + 20
    while free() != cpus and time.time() < deadline:
        time.sleep(0.05)
    return free()


with minimal_nodes():
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000
    )
print("all", run(0.0), until_free(2.0))
print("half", run(1.0, cpu_allocation_percentage=0.5), until_free(2.0))
one = ray.remote(num_cpus=1)(hold).remote(9)
until_free(1.0)
print("rest", run(0.0))
began = time.time()
both = ray.remote(num_cpus=1)(hold).remote(5)
until_free(0.0)
run()
print("waited", time.time() - began > 4.5)
"""


@pytest.mark.soak
def test_a_run_reserves_free_cpus_and_gives_them_back(tmp_path: Path) -> None:
    file = tmp_path / "driver.py"
    file.write_text(SCRIPT)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}

    done = subprocess.run(
        [sys.executable, str(file)],
        env=inherited,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.stdout.splitlines() == [
        "all 0.0 2.0",
        "half 1.0 2.0",
        "rest 0.0",
        "waited True",
    ], done.stderr
    assert "other jobs hold the CPUs of node" in done.stderr
    assert "(0 of 2 are free); waiting for one" in done.stderr
