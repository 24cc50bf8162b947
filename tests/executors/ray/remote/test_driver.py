"""A remote driver sends what its executor does, in order, and ends when its run is lost."""

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
from waitkit import eventually


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """A remote driver changes the loggers of its process, which is its own otherwise."""
    ours, root = logging.getLogger("curator_core"), logging.getLogger()
    level, handlers = ours.level, list(root.handlers)
    yield
    ours.setLevel(level)
    root.handlers[:] = handlers


class Same(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


def pass_sources_on(plan: Plan, run: Any) -> Iterator[AnyTask]:
    for source in run.sources():
        yield from run.add_output(source)
        yield from run.apply_report(CallReport(), [source])


def restart_a_source(plan: Plan, run: Any) -> Iterator[AnyTask]:
    assert run.take_mixed_sources() == set()  # answered here, since nothing was restarted
    again = run.restart_source("s", "it died")
    run.events.emit("answered", task_id=again[0].task_id, mixed=sorted(run.take_mixed_sources()))
    yield from ()


def wait_for_the_stop(plan: Plan, run: Any) -> Iterator[AnyTask]:
    while not run.stopping.is_overdue:
        time.sleep(0.01)
    yield from ()


def emit_many(plan: Plan, run: Any) -> Iterator[AnyTask]:
    for number in range(1000):
        run.credit([{}])
        yield source(number)


def source(number: int) -> Task[int]:
    task = Task(number)
    task.task_id, task.lineage = str(number), {(str(number), 1): 1}  # type: ignore[dict-item]
    return task


def driver_of(drive: Drive) -> RemoteDriver:
    plan = Pipeline("p", stages=[Same()]).build(tasks=[])
    return RemoteDriver(dumps(DriverJob(drive, plan, "token", 0)), [], 30)


def next_messages(
    driver: RemoteDriver,
    message: RunMessage = RunMessage(has_all=True),  # noqa: B008 - frozen
) -> list[DriverMessage]:
    messages: list[DriverMessage] = []
    while not messages:
        _, pickled = driver.exchange(dumps(message))
        messages, message = loads(pickled), RunMessage(has_all=True)
    return messages


def messages_until_the_end(driver: RemoteDriver) -> list[DriverMessage]:
    messages: list[DriverMessage] = []
    while not any(message.kind == "end" for message in messages):
        messages += next_messages(driver)
    return messages


def test_outputs_come_before_their_reports() -> None:
    driver = driver_of(pass_sources_on)
    wanted, _ = driver.exchange(dumps(RunMessage()))
    assert wanted > 0
    sources = dumps([(source(number), None) for number in (1, 2)])
    assert driver.receive(dumps(RunMessage(sources=sources, has_all=True))) == 0
    messages = messages_until_the_end(driver)
    assert [message.kind for message in messages] == [
        "add_output",
        "apply_report",
        "add_output",
        "apply_report",
        "end",
    ]
    assert [message.args[0][0].data for message in messages[:3:2]] == [1, 2]
    assert messages[1].args[1] == (("1", 1),)
    assert messages[-1].args[0] is None


def test_a_driver_without_sources_asks_at_once() -> None:
    driver = driver_of(pass_sources_on)
    start = time.monotonic()
    assert [driver.exchange(dumps(RunMessage()))[0] > 0 for _ in range(10)] == [True] * 10
    assert time.monotonic() - start < LONG_POLL_S
    driver.receive(dumps(RunMessage(abort=True)))


def test_questions_are_answered() -> None:
    driver = driver_of(restart_a_source)
    assert [message.kind for message in next_messages(driver)] == ["restart_source"]
    messages = next_messages(driver, RunMessage(answers=[[source(7)]]))
    assert [message.kind for message in messages] == ["take_mixed_sources"]
    event, *_ = next_messages(driver, RunMessage(answers=[{"s"}]))
    assert event.args == ("answered", {"task_id": "7", "mixed": ["s"]})


def test_an_unanswered_question_ends_with_the_run() -> None:
    driver = driver_of(restart_a_source)
    next_messages(driver)
    driver.receive(dumps(RunMessage(abort=True)))
    [end] = messages_until_the_end(driver)
    assert end.args[0] is None


def test_the_executor_waits_while_outputs_are_not_taken() -> None:
    driver = driver_of(emit_many)
    proxy = driver._run
    assert eventually(lambda: proxy._buffered >= driver_module._BUFFER_BYTES)
    first = next_messages(driver)
    assert sum(len(m.args[0]) for m in first if m.kind == "emit") < 100
    # Each output follows its credit, and at last comes the end.
    assert len(first) + len(messages_until_the_end(driver)) == 2001


def test_a_driver_that_receives_nothing_aborts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_LOST_AFTER_S", 0.1)
    driver = driver_of(wait_for_the_stop)
    assert eventually(lambda: driver._is_lost)
    error = messages_until_the_end(driver)[-1].args[0]
    assert isinstance(error, ClusterError)
    assert "no message from the run for 0.1 s" in str(error)


def test_an_error_that_cannot_be_pickled_arrives_as_text() -> None:
    def fail(plan: Plan, run: Any) -> Iterator[AnyTask]:
        error = ValueError("no")
        error.iterator = (one for one in ())  # type: ignore[attr-defined]
        raise error
        yield

    [end] = messages_until_the_end(driver_of(fail))
    assert isinstance(end.args[0], RuntimeError)
    assert str(end.args[0]) == "ValueError: no"
