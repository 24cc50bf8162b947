"""Three nodes on this machine, one of them with GPUs: who runs where, and is prepared how often."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import grid
from curator_core import Pipeline, ProcessingStage, Resources, Task, WorkerInfo
from curator_core.testing.contract.logs import lives, note, read_log
from curator_core.testing.contract.stages import Lives
from curator_ray_data.executor import RayDataExecutor

pytest.importorskip("ray.data")


@contextmanager
def three_nodes() -> Iterator[Any]:
    """Two nodes with a CPU each, and one with a CPU and two GPUs of 40 GB."""
    from curator_ray.cluster.nodes import GPU_MEMORY_LABEL

    gpus = {"num_cpus": 1, "num_gpus": 2, "labels": {GPU_MEMORY_LABEL: "40"}}
    with (
        tempfile.TemporaryDirectory(prefix="cd-", ignore_cleanup_errors=True) as folder,
        grid(folder, {"num_cpus": 1}, gpus) as made,
    ):
        yield made


@pytest.fixture(scope="module", autouse=True)
def three(one_ray: Any) -> Any:
    return one_ray.use(three_nodes, Path(__file__).parent)


@dataclass
class Where(ProcessingStage[Task[Any], Task[Any]]):
    """Gives the node, the worker and the devices that a task met."""

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.05)
        devices = os.environ.get("CUDA_VISIBLE_DEVICES")
        return task.with_data((self._worker.node.node_id, self._worker.worker_id, devices))


@dataclass
class Meets(Lives):
    """No task ends before as many workers are there as there should be."""

    fellows: int = 2

    def process(self, task: Task[int]) -> Task[int]:
        latest = time.monotonic() + 60
        while lives(read_log(self.log), "setup").total() < self.fellows:
            assert time.monotonic() < latest, "the others never came"
            time.sleep(0.02)
        return super().process(task)


def ran(*stages: Any, count: int = 24) -> list[Any]:
    given = [Task(number) for number in range(count)]
    return list(Pipeline("p", stages=list(stages)).run(RayDataExecutor(), tasks=given))


def node_with_gpus() -> str:
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    [found] = [node["NodeID"] for node in nodes if node["Resources"].get("GPU")]
    return str(found)


@dataclass
class Passes(ProcessingStage[Task[Any], Task[Any]]):
    """Notes the node; without a state of its own, it runs in tasks."""

    log: str

    def process(self, task: Task[Any]) -> Task[Any]:
        import ray

        time.sleep(0.05)
        note(self.log, "passed", self.name, ray.get_runtime_context().get_node_id())
        return task


class PassesActors(Passes):
    def setup(self, worker: WorkerInfo) -> None:
        """So it runs in actors."""


def test_devices_go_to_one_worker_each_and_whoever_needs_none_stays_away(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    in_tasks = Passes(log).with_(name="tasks", resources=Resources(cpus=0.4))
    in_actors = PassesActors(log).with_(name="actors", resources=Resources(cpus=0.4))
    gpu = Where().with_(resources=Resources(cpus=0.1, gpus=1), num_workers=2)

    met = {task.data for task in ran(in_tasks, in_actors, gpu)}

    assert {node for node, _, _ in met} == {node_with_gpus()}
    assert sorted(devices for _, _, devices in met) == ["0", "1"]
    passed = {(event.stage, event.place) for event in read_log(log)}
    assert {stage for stage, _ in passed} == {"tasks", "actors"}
    assert node_with_gpus() not in {node for _, node in passed}


def test_workers_of_ten_gb_share_devices_of_forty() -> None:
    small = Where().with_(resources=Resources(cpus=0.1, gpu_memory_gb=10), num_workers=5)

    met = {task.data for task in ran(small, count=60)}

    shared = Counter(devices for _, _, devices in met)
    assert sorted(shared.values()) == [1, 4]


def test_each_node_is_prepared_once_and_each_worker_torn_down(tmp_path: Path) -> None:
    log = tmp_path / "log"
    meets = Meets(str(log), fellows=3).with_(num_workers=3, resources=Resources(cpus=0.45))

    assert len(ran(meets, count=12)) == 12

    events = read_log(log)
    nodes = Counter(event.place for event in events if event.kind == "node")
    assert sorted(nodes.values()) == [1, 1]
    assert len(lives(events, "setup")) == 3
    assert set(lives(events, "setup").values()) == {1}
    assert lives(events, "teardown") == lives(events, "setup")
