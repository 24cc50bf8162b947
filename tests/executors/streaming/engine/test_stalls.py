"""Runs without progress: they warn with stage and stack, and end if their workers are idle."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.errors import StageError
from curator_ray.worker.activity import WorkerActivity
from curator_streaming.engine import stalls
from curator_streaming.engine.stalls import StallMonitor
from curator_streaming.executor import StreamingExecutor
from waitkit import eventually

needs_ray = pytest.mark.usefixtures("private_ray")

Tasks = ProcessingStage[Task[Any], Task[Any]]


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


@needs_ray
def test_idle_workers_end_the_run_with_stage_and_stack() -> None:
    pipeline = Pipeline("p", stages=[WaitsForever()])
    executor = StreamingExecutor(config={"stall_warning_s": 2})

    with pytest.raises(StageError, match=r"no progress for .*'waits_forever'.*no CPU") as error:
        pipeline.run(executor, tasks=[Task(n) for n in range(8)])

    assert "wait_for_nothing" in error.value.detail
    assert "run it again to resume" in str(error.value)


@needs_ray
def test_busy_workers_cause_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    release = tmp_path / "release"
    pipeline = Pipeline("p", stages=[SpinsUntil(str(release))])
    executor = StreamingExecutor(config={"stall_warning_s": 2})
    stream = pipeline.stream(executor, tasks=[Task(1)])
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
@needs_ray
def test_a_stall_timeout_ends_the_run(tmp_path: Path) -> None:
    pipeline = Pipeline("p", stages=[SpinsUntil(str(tmp_path / "never"))])
    executor = StreamingExecutor(config={"stall_timeout": 2})

    with pytest.raises(StageError, match=r"no progress for .*run it again"):
        pipeline.run(executor, tasks=[Task(1)])


@dataclass
class Cluster:
    """Workers with one call each, a clock that only the test moves, and what workers have used."""

    monkeypatch: pytest.MonkeyPatch
    cpu_s: dict[str, float] = field(default_factory=dict)
    now: float = 1000.0
    events: list[str] = field(default_factory=list)

    def monitor(self, workers: int, warning_s: float, timeout_s: float | None) -> StallMonitor:
        stage = SimpleNamespace(name="parse", resources=SimpleNamespace(needs_gpu=False))
        records = {
            number: SimpleNamespace(
                number=number,
                node="n",
                calls={1: SimpleNamespace(first=0)},
                handle=SimpleNamespace(status_files=str(number)),
            )
            for number in range(workers)
        }
        run = SimpleNamespace(
            plan=SimpleNamespace(stages=[stage]),
            events=SimpleNamespace(emit=lambda name, **_: self.events.append(name)),
        )
        self.cpu_s = {str(number): 0.0 for number in records}
        self.monkeypatch.setattr(stalls, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.monkeypatch.setattr(stalls, "read_activities_on_nodes", self.read)
        made: Any = (run, SimpleNamespace(records=records, stages=[stage]))
        return StallMonitor(*made, warning_s, timeout_s)

    def read(self, workers: list[str], *, with_stacks: bool) -> list[WorkerActivity]:
        return [
            WorkerActivity(number, self.now, self.cpu_s[number], 0, False, 0, "stack")
            for number in workers
            if number in self.cpu_s
        ]

    def wait(self, monitor: StallMonitor, seconds: float) -> StageError | None:
        """Let time pass, and check until nothing is being inspected."""
        self.now += seconds
        while (error := monitor.check()) is None and monitor._inspection is not None:
            inspection = monitor._inspection
            assert eventually(lambda seen=inspection: seen.found is not None)
        return error


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


class TestStallMonitor:
    def test_it_ends_a_run_whose_workers_are_all_idle(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(2, warning_s=100, timeout_s=None)
        assert cluster.wait(monitor, 20) is None
        error = cluster.wait(monitor, 90)

        assert error is not None
        assert error.stage == "parse"

    def test_one_busy_worker_is_enough_to_go_on(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(2, warning_s=100, timeout_s=None)
        cluster.wait(monitor, 20)
        cluster.cpu_s["1"] += 50

        assert cluster.wait(monitor, 90) is None
        assert cluster.events == ["stalled"]

    def test_a_worker_that_cannot_be_read_is_not_taken_for_idle(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(2, warning_s=100, timeout_s=None)
        cluster.wait(monitor, 20)
        del cluster.cpu_s["1"]

        assert cluster.wait(monitor, 90) is None
        assert cluster.events == ["stalled"]

    def test_it_warns_again_and_ends_the_run_once_all_are_idle(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(1, warning_s=100, timeout_s=None)
        cluster.wait(monitor, 20)
        cluster.cpu_s["0"] += 50
        assert cluster.wait(monitor, 90) is None
        assert cluster.wait(monitor, 90) is None

        assert cluster.wait(monitor, 20) is not None

    def test_progress_starts_the_time_again(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(1, warning_s=100, timeout_s=150)
        for _ in range(5):
            assert cluster.wait(monitor, 90) is None
            monitor.note_progress()

        assert cluster.events == []

    def test_a_run_without_calls_ends_only_after_the_timeout(self, cluster: Cluster) -> None:
        monitor = cluster.monitor(0, warning_s=100, timeout_s=300)
        cluster.wait(monitor, 20)
        assert cluster.wait(monitor, 90) is None

        assert cluster.wait(monitor, 200) is not None
