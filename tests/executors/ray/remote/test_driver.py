"""A deputy tells what its driver does in order, and ends when nobody listens to it."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.model.reports import CallReport
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan
from curator_ray.errors import ClusterError
from curator_ray.remote import driver as driver_module
from curator_ray.remote.driver import LONG_POLL_S, RemoteDriver
from curator_ray.remote.messages import Drive, DriverJob, DriverMessage, RunMessage, dumps, loads


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A deputy has its process to itself."""
    ours, root = logging.getLogger("curator_core"), logging.getLogger()
    level, handlers = ours.level, list(root.handlers)
    yield
    ours.setLevel(level)
    root.handlers[:] = handlers


class Same(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


def drives(plan: Plan, run: Any) -> Iterator[AnyTask]:
    """Hands on what it gets."""
    for source in run.sources():
        yield from run.add_output(source)
        yield from run.apply_report(CallReport(), [source])


def asks(plan: Plan, run: Any) -> Iterator[AnyTask]:
    assert run.take_mixed_sources() == set()  # nothing is void yet, so nobody is asked
    again = run.restart_source("s", "it died")
    run.events.emit("answered", task_id=again[0].task_id, mixed=sorted(run.take_mixed_sources()))
    yield from ()


def waits(plan: Plan, run: Any) -> Iterator[AnyTask]:
    while not run.stopping.is_overdue:
        time.sleep(0.01)
    yield from ()


def gives_much(plan: Plan, run: Any) -> Iterator[AnyTask]:
    for number in range(1000):
        run.credit([{}])
        yield source(number)


def source(number: int) -> Task[int]:
    task = Task(number)
    task.task_id, task.lineage = str(number), {(str(number), 1): 1}  # type: ignore[dict-item]
    return task


def sent(drive: Drive) -> RemoteDriver:
    plan = Pipeline("p", stages=[Same()]).build(tasks=[])
    return RemoteDriver(dumps(DriverJob(drive, plan, "token", 0)), [], 30)


def heard(deputy: RemoteDriver, word: RunMessage = RunMessage(has_all=True)) -> list[DriverMessage]:  # noqa: B008 - frozen
    """What it says next: it has its sources, or waits for none."""
    notes: list[DriverMessage] = []
    while not notes:
        _, letter = deputy.exchange(dumps(word))
        notes, word = loads(letter), RunMessage(has_all=True)
    return notes


def until_the_end(deputy: RemoteDriver) -> list[DriverMessage]:
    notes: list[DriverMessage] = []
    while not any(note.kind == "end" for note in notes):
        notes += heard(deputy)
    return notes


def test_sources_come_as_they_are_wanted_and_outputs_before_their_reports() -> None:
    deputy = sent(drives)
    wanted, _ = deputy.exchange(dumps(RunMessage()))
    assert wanted > 0
    few = dumps([(source(number), None) for number in (1, 2)])
    assert deputy.heed(dumps(RunMessage(sources=few, has_all=True))) == 0
    notes = until_the_end(deputy)
    assert [note.kind for note in notes] == [
        "add_output",
        "apply_report",
        "add_output",
        "apply_report",
        "end",
    ]
    assert [note.told[0][0].data for note in notes[:3:2]] == [1, 2]
    assert notes[1].told[1] == (("1", 1),)
    assert notes[-1].told[0] is None


def test_who_is_short_of_sources_says_so_at_once() -> None:
    deputy = sent(drives)
    began = time.monotonic()
    assert [deputy.exchange(dumps(RunMessage()))[0] > 0 for _ in range(10)] == [True] * 10
    assert time.monotonic() - began < LONG_POLL_S
    deputy.heed(dumps(RunMessage(breaks_off=True)))


def test_questions_are_answered() -> None:
    deputy = sent(asks)
    assert [note.kind for note in heard(deputy)] == ["restart_source"]
    assert [note.kind for note in heard(deputy, RunMessage(answers=[[source(7)]]))] == [
        "take_mixed_sources"
    ]
    told, *_ = heard(deputy, RunMessage(answers=[{"s"}]))
    assert told.told == ("answered", {"task_id": "7", "mixed": ["s"]})


def test_a_question_that_nobody_answers_ends_when_the_run_does() -> None:
    deputy = sent(asks)
    heard(deputy)
    deputy.heed(dumps(RunMessage(breaks_off=True)))
    [end] = until_the_end(deputy)
    assert end.told[0] is None


def test_outputs_that_nobody_takes_hold_the_driver_up() -> None:
    deputy = sent(gives_much)
    time.sleep(0.2)
    first = heard(deputy)
    assert sum(len(note.told[0]) for note in first if note.kind == "emit") < 100
    assert len(first) + len(until_the_end(deputy)) == 2001  # each after its credit, and the end


def test_a_deputy_that_hears_nothing_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_LOST_AFTER_S", 0.1)
    deputy = sent(waits)
    time.sleep(1.3)
    error = until_the_end(deputy)[-1].told[0]
    assert isinstance(error, ClusterError)
    assert "nothing was heard of the run for 0.1 s" in str(error)


def test_what_the_driver_raises_travels_whether_or_not_it_can_be_pickled() -> None:
    def fails(plan: Plan, run: Any) -> Iterator[AnyTask]:
        error = ValueError("no")
        if plan.name == "p":
            error.lock = iter(())  # type: ignore[attr-defined]
            error.why = (one for one in ())  # type: ignore[attr-defined]
        raise error
        yield

    [end] = until_the_end(sent(fails))
    assert isinstance(end.told[0], RuntimeError)
    assert str(end.told[0]) == "ValueError: no"
