"""Workers that die: only the task that is to blame is quarantined, and nothing is lost."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task, WorkerInfo
from curator_core.errors import PipelineError, StageError
from curator_streaming.executor import StreamingExecutor

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Works(Numbers):
    """Notes its process id in a folder."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder

    def process(self, task: Task[Any]) -> Task[Any]:
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(0.01)
        return task


class Streams(Numbers):
    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for position in range(5):
            time.sleep(0.1)
            yield Task(task.data * 10 + position)


class DiesAtSomeTasks(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        if task.data % 100 == 42:
            os._exit(1)
        return task


class DiesAtSetup(Numbers):
    def setup(self, worker: WorkerInfo) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class Killer:
    """Kills random workers by the process ids that they noted."""

    def __init__(self, folder: Path, every_s: float, times: int) -> None:
        self.killed = 0
        self._folder, self._every_s, self._times = folder, every_s, times
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join()

    def _kill(self) -> None:
        while self.killed < self._times and not self._has_ended.wait(self._every_s):
            files = list(self._folder.iterdir())
            if files:
                victim = random.choice(files)
                victim.unlink()
                self.killed += 1
                os.kill(int(victim.name), signal.SIGKILL)


def test_random_kills_lose_and_duplicate_nothing(tmp_path: Path) -> None:
    pipeline = Pipeline("p", stages=[Works(str(tmp_path))])

    with Killer(tmp_path, 0.8, 3) as killer:
        result = pipeline.run(StreamingExecutor(), tasks=[Task(n) for n in range(700)])

    assert killer.killed >= 2
    assert sorted(task.data for task in result) == list(range(700))
    assert result.stages["works"].tasks_in == 700
    assert sum(result.worker_restarts.values()) == killer.killed
    assert result.quarantined == []


def test_a_generator_killed_midway_delivers_everything_once(tmp_path: Path) -> None:
    pipeline = Pipeline("p", stages=[Works(str(tmp_path)), Streams(), Works(str(tmp_path)).with_(
        name="last")])  # fmt: skip

    with Killer(tmp_path, 1.2, 1):
        result = pipeline.run(StreamingExecutor(), tasks=[Task(n) for n in range(12)])

    assert sorted(task.data for task in result) == [n * 10 + p for n in range(12) for p in range(5)]
    assert result.sources_done == 12


def test_only_the_task_that_kills_workers_is_quarantined() -> None:
    pipeline = Pipeline("p", stages=[DiesAtSomeTasks()], max_failures=None)

    result = pipeline.run(StreamingExecutor(), tasks=[Task(n) for n in range(200)])

    assert sorted(task.data for task in result) == [n for n in range(200) if n % 100 != 42]
    assert len(result.quarantined) == 2
    assert {record.attempts for record in result.quarantined} == {2}
    assert "os._exit" in result.quarantined[0].reason


def test_a_stage_that_dies_at_setup_fails_the_run() -> None:
    with pytest.raises(StageError, match=r"could not be set up 3 times.*'dies_at_setup' was being"):
        Pipeline("p", stages=[DiesAtSetup()]).run(StreamingExecutor(), tasks=[Task(1)])


def test_a_task_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(PipelineError, match=r"\(Task\).*cannot be pickled.*plain data"):
        Pipeline("p", stages=[DiesAtSomeTasks()]).run(
            StreamingExecutor(), tasks=[Task(threading.Lock())]
        )
