"""Deaths of workers on other machines: the driver asks for the reason and goes on meanwhile."""

from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.run.run import ActiveRun
from curator_core.run.sources import TaskListing
from curator_core.run.store import NoStore
from curator_ray.inbox import Inbox, Received
from curator_ray.recovery import CrashHistory
from curator_ray.worker.deaths import WorkerDeath
from curator_streaming.engine import workers
from curator_streaming.engine.blocks import BlockTable
from curator_streaming.engine.events import EventSource
from curator_streaming.engine.results import Results
from curator_streaming.engine.workers import ReplyKey, WorkerRecord, WorkerSet
from curator_streaming.scheduler import events
from curator_streaming.scheduler.steps import plan_steps


class Passes(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class RemoteHandle:
    """A worker on another machine, which has not answered yet."""

    is_killed = False

    def request_crash_report(self) -> object:
        return object()

    def explain_death_by(self, report: Any, error: Exception) -> WorkerDeath:
        return WorkerDeath("died" if report is None else report)

    def kill(self) -> None:
        self.is_killed = True


class Engine:
    """The events of a run with one worker, without Ray."""

    def __init__(self) -> None:
        plan = Pipeline("p", stages=[Passes()]).build(tasks=[])
        self.run = ActiveRun(plan, TaskListing([]), NoStore())
        self.inbox: Inbox[ReplyKey] = Inbox()
        blocks, unused = BlockTable(), Any
        stages = tuple(plan.stages)
        self.workers = WorkerSet(unused, stages, self.inbox, blocks)  # type: ignore[arg-type]
        self.handle = RemoteHandle()
        self.record = WorkerRecord(1, self.handle, "far", None, is_up=True)  # type: ignore[arg-type]
        self.workers.records[1] = self.record
        results, crashes = Results(self.run, unused), CrashHistory(self.run)  # type: ignore[arg-type]
        steps = plan_steps(stages)
        self.events = EventSource(self.run, steps, self.workers, blocks, results, crashes)

    def receive(self, kind: Any, **what: Any) -> None:
        self.events.handle(Received(ReplyKey(kind, 1), **what))

    def die(self) -> None:
        import ray

        self.receive("ping", error=ray.exceptions.ActorDiedError())

    def downs(self) -> list[str]:
        return [e.reason for e in self.events.pending if isinstance(e, events.WorkerDown)]


@pytest.fixture
def engine() -> Engine:
    pytest.importorskip("ray")
    return Engine()


def test_a_death_is_reported_when_the_other_machine_has_answered(engine: Engine) -> None:
    engine.die()
    assert engine.downs() == []
    assert not engine.inbox.is_empty

    engine.receive("crash_report", value="crashed: Segmentation fault")

    assert engine.downs() == ["a worker crashed: Segmentation fault"]
    assert engine.handle.is_killed
    assert engine.workers.records == {}


def test_a_machine_that_fails_to_answer_is_not_awaited_for_ever(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CRASH_REPORT_TIMEOUT_S", -1.0)
    engine.die()

    for record in engine.workers.check():
        engine.events.worker_overdue(record)

    assert engine.downs() == ["a worker died without an error message, probably by SIGKILL"]


def test_the_report_may_fail(engine: Engine) -> None:
    import ray

    engine.die()
    engine.receive("crash_report", error=ray.exceptions.NodeDiedError("gone"))

    assert engine.downs() == ["a worker died without an error message, probably by SIGKILL"]


def test_later_errors_of_the_same_worker_change_nothing(engine: Engine) -> None:
    engine.die()
    engine.die()
    engine.receive("ended")
    assert engine.downs() == []

    engine.receive("crash_report", value="crashed")

    assert len(engine.downs()) == 1


def test_a_worker_that_hangs_keeps_the_reason_for_killing_it(engine: Engine) -> None:
    engine.events.kill_worker(engine.record, "took longer than its timeout_s")
    engine.receive("crash_report", value="died")

    assert engine.downs() == ["a worker took longer than its timeout_s"]
