"""How often workers may fail to come up before a run is given up."""

import pytest
from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.needs import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.steps import StepSpec

GPU = Need(cpus=0, gpus=UNIT)


class Desk:
    """A scheduler with one node whose workers are killed as they start."""

    def __init__(self, need: Need) -> None:
        self.scheduler = Scheduler([StepSpec(0, 0, ("s",), need, need.is_special)], Settings())
        self.first = 0 if need.is_special else None
        self.now = 0.0
        self.failed: list[str] = []
        self.starting: list[int] = []
        devices = (Device("0", 16 * GB),)
        self.tell(events.NodeJoined(0.0, "n", Capacity(1, 8 * GB, devices)))
        self.tell(events.SourcesOffered(0.0, (Parcel("p", 500, 5000),)))

    def tell(self, *happened: events.Event) -> None:
        for action in self.scheduler.handle(happened):
            if isinstance(action, actions.StartWorker):
                self.starting.append(action.worker)
            if isinstance(action, actions.Fail):
                self.failed.append(action.reason)

    def next_start(self) -> int:
        for _ in range(50):
            if self.starting:
                break
            self.now += 0.5
            self.tell(events.Tick(self.now))
        return self.starting.pop()

    def kill_next(self, weight: float = 1.0) -> None:
        worker = self.next_start()
        self.tell(events.WorkerDown(self.now, worker, "was killed", weight=weight))

    def let_next_come_up(self) -> None:
        worker = self.next_start()
        self.tell(events.WorkerUp(self.now, worker))
        if self.first is not None:
            self.tell(events.SetUpMeasured(self.now, worker, self.first, 1.0))
        self.tell(events.WorkerDown(self.now, worker, "was killed"))


@pytest.mark.parametrize("need", [GPU, Need()], ids=["dedicated", "shared"])
class TestWorkersThatAreKilledAsTheyStart:
    def test_are_the_end_where_none_ever_came_up(self, need: Need) -> None:
        desk = Desk(need)
        for _ in range(3):
            assert desk.failed == []
            desk.kill_next()

        [reason] = desk.failed
        assert reason.endswith("could not be set up 3 times; last: was killed")

    def test_are_borne_with_where_somebody_else_may_have_done_it(self, need: Need) -> None:
        desk = Desk(need)
        for _ in range(14):
            desk.kill_next(weight=0.5)
        assert desk.failed == []

        desk.kill_next(weight=0.5)
        assert desk.failed == ["15 workers in a row were killed as they started; last: was killed"]

    def test_are_borne_with_where_others_came_up_before(self, need: Need) -> None:
        desk = Desk(need)
        desk.let_next_come_up()
        for _ in range(14):
            desk.kill_next()
        assert desk.failed == []
        desk.let_next_come_up()
        for _ in range(14):
            desk.kill_next()
        assert desk.failed == []

        desk.kill_next()
        [reason] = desk.failed
        assert reason.endswith("could not be set up 15 times; last: was killed")
