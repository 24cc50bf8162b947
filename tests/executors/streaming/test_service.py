"""Open pipelines: every submitted task gets exactly one reply."""

import os
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import LocalExecutor, Pipeline, ProcessingStage, Task, WorkerInfo
from curator_core.errors import PipelineError, StageError
from curator_core.plan.service import BusyError, Service
from curator_core.testing.contract.stages import Lists, Writes
from curator_streaming.executor import StreamingExecutor

pytestmark = pytest.mark.usefixtures("private_ray")

Tasks = ProcessingStage[Task[Any], Task[Any]]


class Upper(Tasks):
    def process(self, task: Task[Any]) -> Task[Any] | None:
        if task.data == "bad":
            raise ValueError("bad task")
        if task.data == "killer":
            os._exit(1)
        return None if task.data == "dropped" else task.with_data(task.data.upper())


class SplitsIntoLetters(Tasks):
    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for letter in task.data:
            yield Task(letter)


class Sleeps(Tasks):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(task.data)
        return task


class Joined(Tasks):
    """Joins a batch of tasks into one."""

    batch_size = 4

    def process_batch(self, tasks: list[Task[Any]]) -> list[Task[Any]]:
        return [Task("".join(task.data for task in tasks))]


class FailsAtSetup(Tasks):
    def setup(self, worker: WorkerInfo) -> None:
        raise OSError("no such model")

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


@dataclass
class TearsDown(Tasks):
    mark: str = ""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task

    def teardown(self) -> None:
        Path(self.mark).touch()


def open_service(*stages: Tasks, most_open: int = 100) -> Service:
    return StreamingExecutor().open(Pipeline("p", stages=list(stages)), most_open=most_open)


def test_each_task_gets_one_reply_whatever_happens() -> None:
    tasks = [Task(word) for word in ("one", "bad", "dropped", "killer", "two")]
    with open_service(Upper()) as service:
        tickets = [service.submit(task) for task in tasks]
        replies = {reply.ticket: reply for reply in (service.take(60) for _ in tasks)}

    one, bad, dropped, killer, two = (replies[ticket] for ticket in tickets)
    assert all(r.submitted[0] is t for r, t in zip((one, bad, dropped), tasks, strict=False))
    assert [[o.data for o in r.outputs] for r in (one, dropped, two)] == [["ONE"], [], ["TWO"]]
    assert bad.outputs == ()
    assert bad.failures[0].reason.startswith("ValueError: bad task (")
    assert "os._exit" in killer.failures[0].reason
    assert (one.failures, dropped.failures) == ((), ())


def test_a_reply_has_all_outputs_of_its_task() -> None:
    with open_service(SplitsIntoLetters(), Upper()) as service:
        service.submit(Task("abc"))
        reply = service.take(60)

    assert [output.data for output in reply.outputs] == ["A", "B", "C"]


def test_tasks_that_were_joined_share_a_reply() -> None:
    with open_service(Joined()) as service:
        tickets = {service.submit(Task(letter)) for letter in "abcd"}
        replies = [service.take(60)]
        while sum(len(reply.tickets) for reply in replies) < 4:
            replies.append(service.take(60))

    assert {ticket for reply in replies for ticket in reply.tickets} == tickets
    assert sorted("".join(r.outputs[0].data for r in replies)) == list("abcd")


def test_small_tasks_are_answered_quickly() -> None:
    seconds = []
    with open_service(Upper()) as service:
        for _ in range(50):
            begun = time.perf_counter()
            service.submit(Task("x"))
            service.take(60)
            seconds.append(time.perf_counter() - begun)

    assert statistics.median(seconds) < 0.05  # a few ms on an idle machine


def test_closing_finishes_submitted_tasks() -> None:
    with open_service(Sleeps()) as service:
        for _ in range(10):
            service.submit(Task(0.05))

    assert len(service) == 10
    assert len(list(service.results())) == 10
    assert len(service) == 0
    with pytest.raises(PipelineError, match="closed and takes no more tasks"):
        service.submit(Task(0.1))
    with pytest.raises(PipelineError, match="closed and has no more replies"):
        service.take()


def test_submit_waits_for_room_or_raises() -> None:
    with open_service(Sleeps(), most_open=2) as service:
        for _ in range(2):
            service.submit(Task(0.2))
        with pytest.raises(BusyError, match=r"no room: .*\(most_open=2\); waited 0.01 s"):
            service.submit(Task(0.2), timeout=0.01)
        taker = threading.Timer(0.5, lambda: service.take(60))
        taker.start()
        service.submit(Task(0.0), timeout=180)  # returns as soon as a reply is taken
        taker.join()
        for _ in range(2):
            service.take(60)
        with pytest.raises(BusyError, match=r"no reply is ready yet; 0 tasks .*waited 0.05 s"):
            service.take(timeout=0.05)


def test_an_exception_stops_the_workers_with_teardown(tmp_path: Path) -> None:
    mark = tmp_path / "torn down"
    service = open_service(TearsDown(str(mark)), Sleeps())
    service.submit(Task(0.0))
    service.take(60)

    with pytest.raises(KeyboardInterrupt), service:
        raise KeyboardInterrupt

    assert mark.exists()
    assert service.result.status == "broken off"


def test_a_failed_setup_is_raised_for_every_caller() -> None:
    service = open_service(FailsAtSetup())
    service.submit(Task("x"))

    with pytest.raises(StageError, match="no such model"):
        service.take(60)
    with pytest.raises(StageError, match="no such model"):
        service.submit(Task("x"))
    service.break_off()


@pytest.mark.parametrize(
    ("stages", "config", "message"),
    [
        ([Writes("out")], {}, "'writes' writes files, which an open pipeline cannot publish"),
        ([Lists(3), Upper()], {}, "'lists' creates the first tasks"),
        ([Upper()], {"execution_mode": "batch"}, "a stage waits for all of its input"),
    ],
)
def test_pipelines_that_cannot_be_served(stages: Any, config: Any, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        StreamingExecutor(config=config).open(Pipeline("p", stages=stages))


def test_a_task_of_the_wrong_type_is_refused() -> None:
    with (
        pytest.raises(PipelineError, match="takes Task, but got a str: 'x'"),
        open_service(Upper()) as service,
    ):
        service.submit("x")  # type: ignore[arg-type]


def test_the_local_executor_names_one_that_can_serve() -> None:
    with pytest.raises(PipelineError, match=r"LocalExecutor runs .*use StreamingExecutor\(\).open"):
        LocalExecutor().open(Pipeline("p", stages=[Upper()]))
