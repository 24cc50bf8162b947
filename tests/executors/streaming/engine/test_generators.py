"""Generator stages: paused while their outputs wait, and idle workers beside them."""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_streaming.engine.workers import LAST_TEARDOWN_TIMEOUT_S
from curator_streaming.executor import StreamingExecutor
from waitkit import eventually

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]
MB = 1_000_000


@dataclass
class Inflates(Numbers):
    """Makes a hundred outputs of a megabyte from each task, and notes each in a file."""

    folder: str = ""

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for position in range(100):
            with Path(self.folder, "made").open("a") as file:
                file.write(f"{os.getpid()}\n")
            yield Task(bytes([position]) * MB)


@dataclass
class Slow(Numbers):
    folder: str = ""

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.015)
        with Path(self.folder, "taken").open("a") as file:
            file.write("x\n")
        return task.with_data((len(task.data), self.made() - self.taken()))

    def made(self) -> int:
        return len(Path(self.folder, "made").read_text().splitlines())

    def taken(self) -> int:
        return len(Path(self.folder, "taken").read_text().splitlines())


def test_a_generator_stays_within_the_budget_of_bytes(tmp_path: Path) -> None:
    folder = str(tmp_path)
    pipeline = Pipeline("p", stages=[Inflates(folder), Slow(folder).with_(num_workers=1)])

    result = pipeline.run(
        StreamingExecutor(config={"max_queued_bytes": 40 * MB}), tasks=[Task(b"x" * 10_000)] * 3
    )

    sizes, waiting = zip(*(task.data for task in result), strict=True)
    assert sizes == (MB,) * 300
    # Made but not consumed: the budget, what each call may have ahead, and one whole source if
    # only one shared worker can be paused. Without a limit it would be nearly all of them.
    assert max(waiting) < 200


class SlowGenerator(Numbers):
    """Makes four outputs, 0.15 s each."""

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for position in range(4):
            time.sleep(0.15)
            yield Task(position)


def test_the_seconds_of_a_generator_cover_all_its_outputs(tmp_path: Path) -> None:
    pipeline = Pipeline("p", stages=[SlowGenerator()])

    pipeline.run(StreamingExecutor(), tasks=[Task(n) for n in range(3)], run_dir=str(tmp_path))

    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    [summary] = [event for event in events if event["event"] == "workers_summed_up"]
    assert summary["steps"][0]["seconds_per_task"] >= 0.6  # more on a busy machine


def test_closing_a_run_does_not_wait_for_a_paused_generator(tmp_path: Path) -> None:
    folder = str(tmp_path)
    stages = [Inflates(folder), Slow(folder).with_(num_workers=1)]
    executor = StreamingExecutor(config={"max_queued_bytes": 20 * MB})
    stream = Pipeline("p", stages=stages).stream(executor, tasks=[Task(b"x")] * 4)
    next(stream)
    made = tmp_path / "made"
    assert eventually(lambda: len(made.read_text().splitlines()) >= 20)  # more than the budget

    began = time.monotonic()
    stream.close()

    assert time.monotonic() - began < LAST_TEARDOWN_TIMEOUT_S


class Sleeps(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(task.data)
        return task.with_data(os.getpid())


@dataclass
class NotesPid(Numbers):
    """Notes its process id in a folder, and takes this many seconds."""

    folder: str = ""
    seconds: float = 0.0

    def process(self, task: Task[Any]) -> Task[Any]:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(self.seconds)
        return task


def test_the_death_of_an_idle_worker_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    (tmp_path / "idle").mkdir()
    idle = NotesPid(str(tmp_path / "idle")).with_(name="idle", num_workers=1)
    busy = NotesPid(str(tmp_path / "busy"), 0.5).with_(name="busy", num_workers=1)
    pipeline = Pipeline("p", stages=[idle, busy])

    with pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(10)]) as stream:
        for task in stream:
            if task.data == 3:
                [victim] = (tmp_path / "idle").iterdir()
                os.kill(int(victim.name), signal.SIGKILL)

    assert sum(stream.result.worker_restarts.values()) == 1


def test_a_recycled_worker_is_counted() -> None:
    executor = StreamingExecutor(config={"worker_max_tasks": 30})
    tasks = [Task(0.03) for _ in range(10_000)]

    with Pipeline("p", stages=[Sleeps()]).stream(executor, tasks=tasks) as stream:
        for _ in stream:
            if stream.result.worker_restarts:
                break

    assert set(stream.result.worker_restarts) == {"was recycled"}


@dataclass
class Exits(Numbers):
    """Ends its process at task 3."""

    how: str = "kill"

    def process(self, task: Task[Any]) -> Task[Any]:
        if task.data == 3 and self.how == "exit":
            os._exit(7)
        if task.data == 3:
            os.kill(os.getpid(), signal.SIGTERM if self.how == "term" else signal.SIGKILL)
        return task


@pytest.mark.parametrize(
    ("how", "attempts", "reason"),
    [
        ("exit", 2, r"its worker left with os._exit(7)"),
        ("kill", 4, "its worker died without an error message, probably by SIGKILL"),
    ],
)
def test_a_death_that_may_come_from_outside_counts_half(
    how: str, attempts: int, reason: str
) -> None:
    pipeline = Pipeline("p", stages=[Exits(how)], max_failures=None)

    result = pipeline.run(StreamingExecutor(), tasks=[Task(n) for n in range(8)])

    [record] = result.quarantined
    assert (record.attempts, record.reason.split(": ")[-1]) == (attempts, reason)
    assert len(result) == 7
