"""What counts as progress of a Ray Data job, which does not report calls."""

from types import SimpleNamespace
from typing import Any

import pytest
from curator_core import Pipeline, Task
from curator_core.local.shared_status import StageStatus
from curator_core.testing.contract.stages import Adds
from curator_ray.worker.status_files import StatusFiles
from curator_ray_data import stalls
from curator_ray_data.options import RayDataOptions
from curator_ray_data.stalls import StallWatch

PLAN = Pipeline("p", stages=[Adds(1).with_(name="slow")]).build(tasks=[Task(1)])


class Monitor:
    """Counts the progress that is noted."""

    def __init__(self, *arguments: Any) -> None:
        self.busy_workers = arguments[1]
        self.progress = 0

    def note_progress(self) -> None:
        self.progress += 1

    def check(self) -> None:
        return None


class Watched:
    """A watch over workers that the test changes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.found: list[Any] = []
        monkeypatch.setattr(stalls, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(stalls, "StallMonitor", self.monitor)
        run: Any = SimpleNamespace(plan=PLAN)
        self.watch = StallWatch(run, RayDataOptions(), lambda: list(self.found))

    def monitor(self, *arguments: Any) -> Monitor:
        self.made = Monitor(*arguments)
        return self.made

    def poll(self) -> int:
        """Poll half a minute later, and return how often there was progress so far."""
        self.now += 30
        self.watch.poll()
        return self.made.progress


def worker(name: str, since: float | None) -> tuple[StatusFiles, StageStatus | None]:
    status = None if since is None else StageStatus(0, ["task"], since, -1, True)
    return StatusFiles("", "node-of-" + name, name), status


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_a_worker_in_another_call_is_progress(watched: Watched) -> None:
    watched.found = [worker("a", since=1.0), worker("b", since=None)]
    assert watched.poll() == 1
    assert watched.poll() == 1

    watched.found = [worker("a", since=2.0), worker("b", since=None)]
    assert watched.poll() == 2


def test_workers_with_a_call_are_busy_and_all_nodes_count(watched: Watched) -> None:
    watched.found = [worker("a", since=1.0), worker("b", since=None)]
    watched.poll()

    [busy] = watched.made.busy_workers()
    assert (busy.files.worker_id, busy.planned.name) == ("a", "slow")
    assert watched.watch.used_nodes() == {"node-of-a", "node-of-b"}


def test_the_order_of_workers_does_not_matter(watched: Watched) -> None:
    watched.found = [worker("a", since=1.0), worker("b", since=1.0)]
    watched.poll()
    watched.found.reverse()

    assert watched.poll() == 1
