"""A node where a step fails to set up is avoided as long as there are others."""

from collections.abc import Iterable

import pytest
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.stage_setup import EXCLUSION_S
from curator_streaming.scheduler.steps import StepSpec

GPU = Need(cpus=0, gpus=UNIT)


class FakeCluster:
    """Nodes with one CPU and one GPU each; on the bad ones every setup fails."""

    def __init__(self, nodes: str, bad: Iterable[str], need: Need) -> None:
        self.scheduler = Scheduler([StepSpec(0, 0, ("s",), need, need.is_special)], Settings())
        self.bad = set(bad)
        self.now = 0.0
        self.tried: list[str] = []
        self.up: list[str] = []
        self.failed: list[str] = []
        self.explained: list[str] = []
        self.calls: list[int] = []
        self.dead: set[int] = set()
        self.workers_up: set[int] = set()
        self._where: dict[int, str] = {}
        for node in nodes:
            capacity = Capacity(1, 8 * GB, (Device("0", 16 * GB),))
            self.send(events.NodeJoined(self.now, node, capacity))
        self.send(events.SourcesOffered(self.now, (Block("p", 5000, 50_000),)))

    def send(self, event: events.Event) -> None:
        todo: list[events.Event] = [event]
        while todo:
            for action in self.scheduler.handle([todo.pop(0)]):
                todo += self._answer(action)

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            self.now += 0.5
            self.send(events.Tick(self.now))
            done, self.calls = self.calls, []
            for call in done:
                self.send(events.CallDone(self.now, call, seconds=0.5))

    def _answer(self, action: actions.Action) -> Iterable[events.Event]:
        now = self.now
        if isinstance(action, actions.StartWorker):
            self._where[action.worker] = action.node
            if action.first is None:
                yield events.WorkerUp(now, action.worker)
            else:
                yield from self._set_up(action.worker, action.first)
        elif isinstance(action, actions.Dispatch) and action.worker not in self.dead:
            if action.worker not in self.workers_up:
                yield from self._set_up(action.worker, action.first)
            self.calls.append(action.call)
        elif isinstance(action, actions.StopWorker):
            yield events.WorkerDown(now, action.worker, action.reason, "stopped")
        elif isinstance(action, actions.Fail):
            self.failed.append(action.reason)
        elif isinstance(action, actions.Explain):
            self.explained.append(action.reason)

    def _set_up(self, worker: int, first: int) -> Iterable[events.Event]:
        node = self._where[worker]
        self.tried.append(node)
        if node in self.bad:
            self.dead.add(worker)
            yield events.WorkerDown(self.now, worker, "no space left", "setup", first=first)
            return
        self.up.append(node)
        self.workers_up.add(worker)
        yield events.WorkerUp(self.now, worker)
        yield events.SetupMeasured(self.now, worker, first, 1.0)


@pytest.mark.parametrize("need", [GPU, Need()], ids=["dedicated", "shared"])
class TestNodeWhereSetupFails:
    def test_is_avoided_while_others_work(self, need: Need) -> None:
        cluster = FakeCluster("abc", bad="a", need=need)
        cluster.run(20)

        assert cluster.failed == []
        assert set(cluster.up) == {"b", "c"}
        assert cluster.tried.count("a") == 1
        [reason] = [text for text in cluster.explained if text.startswith("a: ")]
        assert f"{EXCLUSION_S:g} s" in reason
        assert "no space left" in reason

    def test_is_tried_again_after_a_while(self, need: Need) -> None:
        cluster = FakeCluster("ab", bad="a", need=need)
        cluster.run(20)
        cluster.bad.clear()
        cluster.run(EXCLUSION_S + 20)

        assert set(cluster.up) == {"a", "b"}

    def test_never_fails_the_run(self, need: Need) -> None:
        cluster = FakeCluster("ab", bad="a", need=need)
        cluster.run(6 * EXCLUSION_S)

        assert cluster.failed == []
        assert 4 <= cluster.tried.count("a") <= 7

    def test_fails_the_run_if_all_are_like_it(self, need: Need) -> None:
        cluster = FakeCluster("abcdefgh", bad="abcdefgh", need=need)
        cluster.run(60)

        [reason] = cluster.failed
        assert reason.startswith("s could not be set up ")
        assert reason.endswith(" times; last: no space left")
        assert 3 <= len(cluster.tried) <= 8

    def test_is_tried_three_times_if_it_is_the_only_one(self, need: Need) -> None:
        cluster = FakeCluster("a", bad="a", need=need)
        cluster.run(60)

        assert cluster.failed == ["s could not be set up 3 times; last: no space left"]
        assert cluster.tried == ["a"] * 3

    def test_is_replaced_by_one_that_joins(self, need: Need) -> None:
        cluster = FakeCluster("a", bad="a", need=need)
        cluster.send(events.Tick(cluster.now))
        capacity = Capacity(1, 8 * GB, (Device("0", 16 * GB),))
        cluster.send(events.NodeJoined(cluster.now, "b", capacity))
        cluster.run(20)

        assert (cluster.failed, set(cluster.up)) == ([], {"b"})

    def test_does_not_hide_a_good_one(self, need: Need) -> None:
        cluster = FakeCluster("abc", bad="ab", need=need)
        cluster.run(20)

        assert (cluster.failed, set(cluster.up)) == ([], {"c"})
