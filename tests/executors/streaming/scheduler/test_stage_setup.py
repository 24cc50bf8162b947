"""How often workers may fail to start before the run fails."""

import pytest
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import StepSpec

GPU = Need(cpus=0, gpus=UNIT)


class FakeDriver:
    """A scheduler with one node whose workers are killed as they start."""

    def __init__(self, need: Need) -> None:
        self.scheduler = Scheduler([StepSpec(0, 0, ("s",), need, need.is_special)], Settings())
        self.first = 0 if need.is_special else None
        self.now = 0.0
        self.failed: list[str] = []
        self.starting: list[int] = []
        devices = (Device("0", 16 * GB),)
        self.send(events.NodeJoined(0.0, "n", Capacity(1, 8 * GB, devices)))
        self.send(events.SourcesOffered(0.0, (Block("p", 500, 5000),)))

    def send(self, *happened: events.Event) -> None:
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
            self.send(events.Tick(self.now))
        return self.starting.pop()

    def kill_next(self, weight: float = 1.0) -> None:
        worker = self.next_start()
        self.send(events.WorkerDown(self.now, worker, "was killed", weight=weight))

    def let_next_come_up(self) -> None:
        worker = self.next_start()
        self.send(events.WorkerUp(self.now, worker))
        if self.first is not None:
            self.send(events.SetupMeasured(self.now, worker, self.first, 1.0))
        self.send(events.WorkerDown(self.now, worker, "was killed"))


@pytest.mark.parametrize("need", [GPU, Need()], ids=["dedicated", "shared"])
class TestWorkersKilledAtStart:
    def test_fail_the_run_if_none_ever_started(self, need: Need) -> None:
        driver = FakeDriver(need)
        for _ in range(3):
            assert driver.failed == []
            driver.kill_next()

        [reason] = driver.failed
        assert reason.endswith("could not be set up 3 times; last: was killed")

    def test_are_tolerated_if_they_may_be_killed_from_outside(self, need: Need) -> None:
        driver = FakeDriver(need)
        for _ in range(14):
            driver.kill_next(weight=0.5)
        assert driver.failed == []

        driver.kill_next(weight=0.5)
        assert driver.failed == [
            "15 workers in a row were killed as they started; last: was killed"
        ]

    def test_are_tolerated_if_others_started_before(self, need: Need) -> None:
        driver = FakeDriver(need)
        driver.let_next_come_up()
        for _ in range(14):
            driver.kill_next()
        assert driver.failed == []
        driver.let_next_come_up()
        for _ in range(14):
            driver.kill_next()
        assert driver.failed == []

        driver.kill_next()
        [reason] = driver.failed
        assert reason.endswith("could not be set up 15 times; last: was killed")
