"""Nodes that leave and join during a run: nothing is lost, and nothing is done twice."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, grid
from curator_core import Pipeline, ProcessingStage, Resources, Task, WorkerInfo
from curator_core.testing.contract.logs import note, read_log
from curator_ray_data.executor import RayDataExecutor
from waitkit import eventually

pytestmark = pytest.mark.soak  # as with streaming, in every run

pytest.importorskip("ray.data")


Numbers = ProcessingStage[Task[Any], Task[Any]]
FEW = 6


@dataclass
class Where(Numbers):
    """Returns the number and the node that it met."""

    def setup(self, worker: WorkerInfo) -> None:
        self._node = worker.node.node_id

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.1)
        return task.with_data((task.data, self._node))


@dataclass
class Stuck(Where):
    """Hangs on one node; elsewhere it waits until a task has started there."""

    doomed: str
    log: str

    def process(self, task: Task[Any]) -> Task[Any]:
        if self._node == self.doomed:
            note(self.log, "started", str(task.data))
            time.sleep(300)
        assert eventually(lambda: bool(read_log(self.log)), 60)
        return super().process(task)


@dataclass
class WaitsForNodes(Where):
    """Finishes the first few tasks when all these nodes have work, the others when one more has."""

    nodes: frozenset[str]
    log: str

    def process(self, task: Task[Any]) -> Task[Any]:
        note(self.log, "started", "waits", self._node)
        assert eventually(lambda: self._have_work(len(self.nodes) + (task.data >= FEW)), 60)
        return task

    def _have_work(self, count: int) -> bool:
        return len({event.place for event in read_log(self.log)}) >= count


def node_ids() -> frozenset[str]:
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return frozenset(node["NodeID"] for node in nodes if node["Alive"])


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


def test_tasks_of_a_lost_node_run_again(changing: Grid, tmp_path: Path) -> None:
    log = tmp_path / "log"
    node = changing.add(num_cpus=1)
    stuck = Stuck(node.node_id, str(log)).with_(num_workers=3)  # one on each node

    def kill_node() -> None:
        if eventually(lambda: bool(read_log(log)), 60):
            changing.kill(node)

    killer = threading.Thread(target=kill_node)
    killer.start()
    result = Pipeline("p", stages=[stuck]).run(RayDataExecutor(), tasks=tasks(24))
    killer.join()

    started = {int(event.stage) for event in read_log(log)}
    assert started, "the node was lost before it had a task"
    assert sorted(task.data[0] for task in result) == list(range(24))
    assert node.node_id not in {task.data[1] for task in result}
    assert result.quarantined == []


def test_a_pool_grows_onto_a_node_that_joins(changing: Grid, tmp_path: Path) -> None:
    waits = WaitsForNodes(node_ids(), str(tmp_path / "log"))
    pipeline = Pipeline("p", stages=[waits], on_error="fail")
    found = []
    for output in pipeline.stream(RayDataExecutor(), tasks=tasks(24)):
        found.append(output.data)
        if len(found) == FEW:
            changing.add(num_cpus=1)
    assert sorted(found) == list(range(24))


def test_work_moves_to_gpu_nodes_if_all_others_are_lost(changing: Grid, tmp_path: Path) -> None:
    log = tmp_path / "log"
    plain = changing.add(num_cpus=1, resources={"disk": 1})
    gpus = changing.add(num_cpus=1, num_gpus=1, resources={"disk": 1})
    stuck = Stuck(plain.node_id, str(log)).with_(resources=Resources(custom={"disk": 1}))
    killer = threading.Thread(
        target=lambda: eventually(lambda: bool(read_log(log)), 60) and changing.kill(plain)
    )
    killer.start()
    result = Pipeline("p", stages=[stuck]).run(RayDataExecutor(), tasks=tasks(6))
    killer.join()

    assert sorted(task.data for task in result) == [(n, gpus.node_id) for n in range(6)]


def tasks(count: int) -> list[Task[Any]]:
    return [Task(number) for number in range(count)]
