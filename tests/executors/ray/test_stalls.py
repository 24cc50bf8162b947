"""When a run without progress warns, and when it ends."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core.errors import StageError
from curator_ray import stalls
from curator_ray.stalls import BusyWorker, StallMonitor
from curator_ray.worker.activity import WorkerActivity
from curator_ray.worker.status_files import StatusFiles
from waitkit import eventually


@dataclass
class Cluster:
    """Workers with one call each, a clock that only the test moves, and what workers have used."""

    monkeypatch: pytest.MonkeyPatch
    cpu_s: dict[str, float] = field(default_factory=dict)
    now: float = 1000.0
    events: list[str] = field(default_factory=list)

    def monitor(self, workers: int, warning_s: float, timeout_s: float | None) -> StallMonitor:
        stage: Any = SimpleNamespace(name="parse", resources=SimpleNamespace(needs_gpu=False))
        busy = [BusyWorker(StatusFiles("", "n", str(number)), stage) for number in range(workers)]
        run: Any = SimpleNamespace(
            plan=SimpleNamespace(stages=[stage]),
            events=SimpleNamespace(emit=lambda name, **_: self.events.append(name)),
        )
        self.cpu_s = {worker.files.worker_id: 0.0 for worker in busy}
        self.monkeypatch.setattr(stalls, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.monkeypatch.setattr(stalls, "read_activities_on_nodes", self.read)
        return StallMonitor(run, lambda: busy, warning_s, timeout_s)

    def read(self, workers: list[StatusFiles], *, with_stacks: bool) -> list[WorkerActivity]:
        return [
            WorkerActivity(files.worker_id, self.now, self.cpu_s[files.worker_id], 0, False, 0, "")
            for files in workers
            if files.worker_id in self.cpu_s
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
