"""Worker processes are kept between the pipelines of a session, and never outlive it."""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from curator_core import (
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    RunResult,
    StageError,
    Task,
    WorkerInfo,
)
from waitkit import eventually

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Pid(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(os.getpid())


class Logs(Pid):
    """Logs its life to a file."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def setup(self, worker: WorkerInfo) -> None:
        self._write("setup")

    def teardown(self) -> None:
        self._write("teardown")

    def _write(self, event: str) -> None:
        with self.log.open("a") as file:
            file.write(f"{event} {os.getpid()}\n")


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    """An executor in a session; no process may be left after it."""
    before = _children()
    executor = LocalExecutor(workers=1)
    with executor.session():
        yield executor
    assert _children() == before


def _children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def run(executor: LocalExecutor, *stages: Numbers, tasks: int = 1) -> RunResult:
    return Pipeline("job", stages=list(stages)).run(executor, [Task(n) for n in range(tasks)])


def pid(executor: LocalExecutor, *stages: Numbers) -> int:
    """Return the process that ran a pipeline whose last stage is `Pid`."""
    [task] = run(executor, *stages, Pid())
    return int(task.data)


class TestReuse:
    def test_pipelines_use_the_same_processes(self, tmp_path: Path) -> None:
        executor, log = LocalExecutor(workers=2), tmp_path / "log"
        with executor.session():
            used = [{task.data for task in run(executor, Logs(log), tasks=40)} for _ in range(3)]
        assert len(set.union(*used)) <= 2
        events = log.read_text().split("\n")[:-1]
        for process in set.union(*used):
            mine = [event.split()[0] for event in events if event.endswith(f" {process}")]
            assert mine == ["setup", "teardown"] * (len(mine) // 2)
        assert len(events) >= 6

    def test_without_a_session_they_do_not(self) -> None:
        executor = LocalExecutor(workers=1)
        assert pid(executor) != pid(executor)

    def test_nothing_of_the_last_pipeline_is_in_memory(self, executor: LocalExecutor) -> None:
        class Remembers(Numbers):
            def setup(self, worker: WorkerInfo) -> None:
                self.itself = self  # only the garbage collector can free it
                setattr(sys, "last_stage", weakref.ref(self))  # noqa: B010 - for the next pipeline

            def process(self, task: Task[Any]) -> Task[Any]:
                return task

        class Asks(Numbers):
            def process(self, task: Task[Any]) -> Task[Any]:
                return task.with_data((os.getpid(), getattr(sys, "last_stage")() is None))  # noqa: B009

        first = pid(executor, Remembers())
        assert run(executor, Asks()).tasks[0].data == (first, True)

    @pytest.mark.parametrize(
        "change",
        [
            lambda patch, folder: patch.setenv("CURATOR_TEST_VARIABLE", "1"),
            lambda patch, folder: patch.setenv("CUDA_VISIBLE_DEVICES", "7"),
            lambda patch, folder: patch.syspath_prepend(str(folder)),
            lambda patch, folder: patch.chdir(folder),
        ],
        ids=["variable", "gpu", "sys.path", "folder"],
    )
    def test_changed_settings_need_a_new_process(
        self,
        executor: LocalExecutor,
        change: Callable[[pytest.MonkeyPatch, Path], None],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        first = pid(executor)
        change(monkeypatch, tmp_path)
        second = pid(executor)
        assert second != first
        assert pid(executor) == second

    def test_processes_with_other_settings_exit_when_one_is_needed(
        self, executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = pid(executor)
        monkeypatch.setenv("CURATOR_TEST_VARIABLE", "1")
        pid(executor)
        assert not psutil.pid_exists(first)


class Leaves(Numbers):
    """Leaves something in its process."""

    def __init__(self, what: str) -> None:
        self.what = what

    def process(self, task: Task[Any]) -> Task[Any]:
        if self.what == "variable":
            os.environ["CURATOR_TEST_VARIABLE"] = "1"
        elif self.what == "process":
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        elif self.what == "thread":
            threading.Thread(target=threading.Event().wait, args=(0.2,)).start()
        elif self.what == "memory":
            sys.modules["curator_core.local.worker_main"].MAX_IDLE_BYTES = 1  # type: ignore[attr-defined]
        return task


@pytest.mark.parametrize("what", ["variable", "process", "thread", "memory"])
def test_a_process_in_which_a_stage_left_something_exits(
    what: str, executor: LocalExecutor
) -> None:
    first = pid(executor, Leaves(what))
    assert not psutil.pid_exists(first)
    assert pid(executor) != first


def test_an_idle_process_that_was_killed_is_replaced(
    executor: LocalExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    first = pid(executor)
    process = psutil.Process(first)
    process.kill()
    assert eventually(lambda: process.status() == psutil.STATUS_ZOMBIE)
    result = run(executor, Pid())
    assert result.tasks[0].data != first
    assert result.worker_restarts == {}
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_failed_pipeline_ends_its_processes(executor: LocalExecutor) -> None:
    class Fails(Numbers):
        def process(self, task: Task[Any]) -> Task[Any]:
            raise ValueError(f"in {os.getpid()}")

    first = pid(executor)
    with pytest.raises(StageError, match=f"in {first}"):
        run(executor, Fails().with_(on_error="fail"))
    assert not psutil.pid_exists(first)
    assert pid(executor) != first


def test_a_session_may_end_before_the_pipelines_of_other_threads(tmp_path: Path) -> None:
    class Waits(Numbers):
        def process(self, task: Task[Any]) -> Task[Any]:
            (tmp_path / "started").touch()
            assert eventually((tmp_path / "over").exists)
            return task

    before, results = _children(), list[RunResult]()
    executor = LocalExecutor(workers=1)
    with executor.session():
        other = threading.Thread(target=lambda: results.append(run(executor, Waits())))
        other.start()
        assert eventually((tmp_path / "started").exists)
    (tmp_path / "over").touch()
    other.join()
    assert len(results[0]) == 1
    assert results[0].worker_restarts == {}
    assert _children() == before


DRIVER = """
import json, os, sys
from curator_core import LocalExecutor, Pipeline, ProcessingStage, Task

class Pid(ProcessingStage[Task, Task]):
    def process(self, task):
        return task.with_data(os.getpid())

executor = LocalExecutor(workers=1)
with executor.session():
    [task] = Pipeline("job", stages=[Pid()]).run(executor, [Task(1)])
    print(json.dumps(task.data), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_idle_process_ends_with_its_parent(number: signal.Signals) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", DRIVER]
    parent = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert parent.stdout is not None
    idle = psutil.Process(json.loads(parent.stdout.readline()))
    parent.send_signal(number)
    try:
        assert eventually(lambda: not idle.is_running())
    finally:
        parent.kill()
        parent.communicate()
