"""Runs without progress: they warn with stage and stack, and end if their workers are idle."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import two_cpus
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.errors import StageError
from curator_ray_data.executor import RayDataExecutor
from curator_streaming.executor import StreamingExecutor

every_executor = pytest.mark.parametrize(
    "executor",
    [
        StreamingExecutor,
        pytest.param(RayActorPoolExecutor, marks=pytest.mark.soak),
        pytest.param(RayDataExecutor, marks=pytest.mark.soak),
    ],
)

Tasks = ProcessingStage[Task[Any], Task[Any]]


@pytest.fixture(autouse=True)
def private_ray(one_ray: Any) -> None:
    one_ray.use(two_cpus, Path(__file__).parent)


class WaitsForever(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        if task.data == 3:
            self.wait_for_nothing()
        return task

    def wait_for_nothing(self) -> None:
        threading.Event().wait()


@dataclass
class SpinsUntil(Tasks):
    """Uses its CPU until a file exists."""

    file: str

    def process(self, task: Task[Any]) -> Task[Any]:
        while not Path(self.file).exists():
            self.spin()
        return task

    def spin(self) -> None:
        deadline = time.monotonic() + 0.05
        while time.monotonic() < deadline:
            pass


@every_executor
def test_idle_workers_end_the_run_with_stage_and_stack(executor: Any) -> None:
    pipeline = Pipeline("p", stages=[WaitsForever()])

    with pytest.raises(StageError, match=r"no progress for .*'waits_forever'.*no CPU") as error:
        pipeline.run(executor(config={"stall_warning_s": 2}), tasks=[Task(n) for n in range(8)])

    assert "wait_for_nothing" in error.value.detail
    assert "run it again to resume" in str(error.value)


@every_executor
def test_busy_workers_cause_a_warning(
    executor: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    release = tmp_path / "release"
    pipeline = Pipeline("p", stages=[SpinsUntil(str(release))])
    stream = pipeline.stream(executor(config={"stall_warning_s": 2}), tasks=[Task(1)])
    stalls: list[dict[str, Any]] = []

    def end(event: dict[str, Any]) -> None:
        if event["workers"]:  # else it is still starting
            stalls.append(event)
            release.touch()

    stream.run.events.listen(end, "stalled")
    outputs = list(stream)

    assert [task.data for task in outputs] == [1]
    [worker] = stalls[0]["workers"]
    assert (worker["stage"], worker["idle"]) == ("spins_until", False)
    assert "in spin" in stalls[0]["stacks"]
    assert "is busy" in caplog.text


@pytest.mark.soak
@every_executor
def test_a_stall_timeout_ends_the_run(executor: Any, tmp_path: Path) -> None:
    pipeline = Pipeline("p", stages=[SpinsUntil(str(tmp_path / "never"))])

    with pytest.raises(StageError, match=r"no progress for .*run it again"):
        pipeline.run(executor(config={"stall_timeout": 2}), tasks=[Task(1)])
