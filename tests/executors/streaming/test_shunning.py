"""A node on which a step does not come up is left alone, as long as there are others."""

from collections.abc import Iterable

import pytest
from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.shunning import SHUN_S
from curator_streaming.scheduling.steps import StepSpec

GPU = Need(cpus=0, gpus=UNIT)


class Grid:
    """Some nodes with one CPU and one GPU each; on the bad ones nothing comes up."""

    def __init__(self, nodes: str, bad: Iterable[str], need: Need) -> None:
        self.scheduler = Scheduler([StepSpec(0, 0, ("s",), need, need.is_special)], Settings())
        self.bad = set(bad)
        self.now = 0.0
        self.tried: list[str] = []
        self.up: list[str] = []
        self.failed: list[str] = []
        self.said: list[str] = []
        self.calls: list[int] = []
        self.gone: set[int] = set()
        self.up_workers: set[int] = set()
        self._where: dict[int, str] = {}
        for node in nodes:
            capacity = Capacity(1, 8 * GB, (Device("0", 16 * GB),))
            self.tell(events.NodeJoined(self.now, node, capacity))
        self.tell(events.SourcesOffered(self.now, (Parcel("p", 5000, 50_000),)))

    def tell(self, event: events.Event) -> None:
        todo: list[events.Event] = [event]
        while todo:
            for action in self.scheduler.handle([todo.pop(0)]):
                todo += self._answer(action)

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            self.now += 0.5
            self.tell(events.Tick(self.now))
            done, self.calls = self.calls, []
            for call in done:
                self.tell(events.CallDone(self.now, call, seconds=0.5))

    def _answer(self, action: actions.Action) -> Iterable[events.Event]:
        now = self.now
        if isinstance(action, actions.StartWorker):
            self._where[action.worker] = action.node
            if action.first is None:
                yield events.WorkerUp(now, action.worker)
            else:
                yield from self._set_up(action.worker, action.first)
        elif isinstance(action, actions.Dispatch) and action.worker not in self.gone:
            if action.worker not in self.up_workers:
                yield from self._set_up(action.worker, action.first)
            self.calls.append(action.call)
        elif isinstance(action, actions.StopWorker):
            yield events.WorkerDown(now, action.worker, action.reason, "stopped")
        elif isinstance(action, actions.Fail):
            self.failed.append(action.reason)
        elif isinstance(action, actions.Explain):
            self.said.append(action.reason)

    def _set_up(self, worker: int, first: int) -> Iterable[events.Event]:
        node = self._where[worker]
        self.tried.append(node)
        if node in self.bad:
            self.gone.add(worker)
            yield events.WorkerDown(self.now, worker, "no space left", "setup", first=first)
            return
        self.up.append(node)
        self.up_workers.add(worker)
        yield events.WorkerUp(self.now, worker)
        yield events.SetUpMeasured(self.now, worker, first, 1.0)


@pytest.mark.parametrize("need", [GPU, Need()], ids=["dedicated", "shared"])
class TestABadNode:
    def test_is_left_alone_while_others_do_the_work(self, need: Need) -> None:
        grid = Grid("abc", bad="a", need=need)
        grid.run(20)

        assert grid.failed == []
        assert set(grid.up) == {"b", "c"}
        assert grid.tried.count("a") == 1
        assert f"a: left alone by s for {SHUN_S:g} s, for no space left" in grid.said

    def test_is_tried_again_after_a_while(self, need: Need) -> None:
        grid = Grid("ab", bad="a", need=need)
        grid.run(20)
        grid.bad.clear()
        grid.run(SHUN_S + 20)

        assert set(grid.up) == {"a", "b"}

    def test_however_often_it_fails_the_run_goes_on(self, need: Need) -> None:
        grid = Grid("ab", bad="a", need=need)
        grid.run(6 * SHUN_S)

        assert grid.failed == []
        assert 4 <= grid.tried.count("a") <= 7

    def test_all_of_them_are_the_end(self, need: Need) -> None:
        grid = Grid("abcdefgh", bad="abcdefgh", need=need)
        grid.run(60)

        [reason] = grid.failed
        assert reason.startswith("s could not be set up ")
        assert reason.endswith(" times; last: no space left")
        assert 3 <= len(grid.tried) <= 8

    def test_the_only_one_is_tried_three_times(self, need: Need) -> None:
        grid = Grid("a", bad="a", need=need)
        grid.run(60)

        assert grid.failed == ["s could not be set up 3 times; last: no space left"]
        assert grid.tried == ["a"] * 3

    def test_another_may_join_in_time(self, need: Need) -> None:
        grid = Grid("a", bad="a", need=need)
        grid.tell(events.Tick(grid.now))
        capacity = Capacity(1, 8 * GB, (Device("0", 16 * GB),))
        grid.tell(events.NodeJoined(grid.now, "b", capacity))
        grid.run(20)

        assert (grid.failed, set(grid.up)) == ([], {"b"})

    def test_the_last_of_many_may_be_the_good_one(self, need: Need) -> None:
        grid = Grid("abc", bad="ab", need=need)
        grid.run(20)

        assert (grid.failed, set(grid.up)) == ([], {"c"})
