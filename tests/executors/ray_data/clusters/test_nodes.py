"""Where stages run on three nodes, one of them with GPUs, and how often nodes are set up."""

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
from waitkit import eventually

pytestmark = pytest.mark.soak  # as with streaming, in every run

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
    """Returns the node, worker and GPUs that a task met."""

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: Task[Any]) -> Task[Any]:
        devices = os.environ.get("CUDA_VISIBLE_DEVICES")
        return task.with_data((self._worker.node.node_id, self._worker.worker_id, devices))


@dataclass
class WaitsForWorkers(Lives):
    """Finishes no task before this many workers are set up."""

    workers: int = 2

    def process(self, task: Task[int]) -> Task[int]:
        assert eventually(lambda: lives(read_log(self.log), "setup").total() >= self.workers)
        return super().process(task)


def run(*stages: Any, count: int = 24) -> list[Any]:
    given = [Task(number) for number in range(count)]
    return list(Pipeline("p", stages=list(stages)).run(RayDataExecutor(), tasks=given))


def node_with_gpus() -> str:
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    [found] = [node["NodeID"] for node in nodes if node["Resources"].get("GPU")]
    return str(found)


@dataclass
class Passes(ProcessingStage[Task[Any], Task[Any]]):
    """Logs the node. It has no state, so it runs in tasks."""

    log: str

    def process(self, task: Task[Any]) -> Task[Any]:
        import ray

        time.sleep(0.05)
        note(self.log, "passed", self.name, ray.get_runtime_context().get_node_id())
        return task


class PassesActors(Passes):
    def setup(self, worker: WorkerInfo) -> None:
        """A stage with a setup runs in actors."""


def test_each_worker_has_a_gpu_and_other_stages_stay_off_the_node(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    in_tasks = Passes(log).with_(name="tasks", resources=Resources(cpus=0.4))
    in_actors = PassesActors(log).with_(name="actors", resources=Resources(cpus=0.4))
    gpu = Where().with_(resources=Resources(cpus=0.1, gpus=1), num_workers=2)

    met = {task.data for task in run(in_tasks, in_actors, gpu)}

    assert {node for node, _, _ in met} == {node_with_gpus()}
    assert sorted(devices for _, _, devices in met) == ["0", "1"]
    passed = {(event.stage, event.place) for event in read_log(log)}
    assert {stage for stage, _ in passed} == {"tasks", "actors"}
    assert node_with_gpus() not in {node for _, node in passed}


def test_workers_share_gpus_by_memory() -> None:
    small = Where().with_(resources=Resources(cpus=0.1, gpu_memory_gb=10), num_workers=5)

    met = {task.data for task in run(small, count=60)}

    shared = Counter(devices for _, _, devices in met)
    assert sorted(shared.values()) == [1, 4]


def test_setup_on_node_runs_once_per_node_and_every_worker_is_torn_down(tmp_path: Path) -> None:
    log = tmp_path / "log"
    size = Resources(cpus=0.45)
    stage = WaitsForWorkers(str(log), workers=3).with_(num_workers=3, resources=size)

    assert len(run(stage, count=12)) == 12

    events = read_log(log)
    nodes = Counter(event.place for event in events if event.kind == "node")
    assert sorted(nodes.values()) == [1, 1]
    assert len(lives(events, "setup")) == 3
    assert set(lives(events, "setup").values()) == {1}
    assert lives(events, "teardown") == lives(events, "setup")
