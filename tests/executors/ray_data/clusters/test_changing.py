"""Nodes that leave and join while Ray Data is at work: nothing is lost, and nothing doubled."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, grid
from curator_core import Pipeline, ProcessingStage, Task, WorkerInfo
from curator_ray_data.executor import RayDataExecutor

pytest.importorskip("ray.data")


@dataclass
class Where(ProcessingStage[Task[Any], Task[Any]]):
    """Gives the number, and the node that it met."""

    def setup(self, worker: WorkerInfo) -> None:
        self._node = worker.node.node_id

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.1)
        return task.with_data((task.data, self._node))


@contextmanager
def plain_nodes() -> Iterator[Grid]:
    with (
        tempfile.TemporaryDirectory(prefix="cc-", ignore_cleanup_errors=True) as folder,
        grid(folder, {"num_cpus": 1}) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def changing(one_ray: Any) -> Any:
    return one_ray.use(plain_nodes, Path(__file__).parent)


def numbers_while(happens: Any) -> list[int]:
    """What comes out where something happens in the middle."""
    pipeline = Pipeline("p", stages=[Where()])
    found = []
    for output in pipeline.stream(RayDataExecutor(), tasks=[Task(n) for n in range(24)]):
        found.append(output.data[0])
        if len(found) == 6:
            happens()
    return sorted(found)


def test_what_a_lost_node_had_is_run_again(changing: Grid) -> None:
    node = changing.add(num_cpus=1)
    assert numbers_while(lambda: changing.kill(node)) == list(range(24))


def test_a_node_that_joins_disturbs_nobody(changing: Grid) -> None:
    assert numbers_while(lambda: changing.add(num_cpus=1)) == list(range(24))
