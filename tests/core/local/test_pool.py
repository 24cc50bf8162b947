"""Worker processes: messages to and from their parent, and their deaths."""

import atexit
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from curator_core import (
    LocalExecutor,
    NodeInfo,
    Pipeline,
    PipelineError,
    ProcessingStage,
    RunResult,
    StageError,
    Task,
    WorkerInfo,
)
from curator_core.model.stages import AnyStage

Numbers = ProcessingStage[Task[Any], Task[Any]]


def run(*stages: AnyStage, tasks: Sequence[object], workers: int = 2, **options: Any) -> RunResult:
    pipeline = Pipeline("job", stages=list(stages), max_failures=None, **options)
    return pipeline.run(LocalExecutor(workers=workers), [Task(data) for data in tasks])


class Same(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class Twice(Numbers):
    def process(self, task: Task[Any]) -> list[Task[Any]]:
        return [task.with_data(task.data + str(number)) for number in range(2)]


class PutsAway(Numbers):
    """Registers exit handlers in its process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def setup(self, worker: WorkerInfo) -> None:
        atexit.register((self.folder / "ended").touch)
        self.kept = tempfile.TemporaryDirectory(dir=self.folder, prefix="kept")

    def process(self, task: Task[Any]) -> Task[Any]:
        print("half a line", end="", file=sys.stdout)
        return task


class Lingers(PutsAway):
    def process(self, task: Task[Any]) -> Task[Any]:
        threading.Timer(0.3, (self.folder / "late").touch).start()
        return task


class TestEnds:
    def test_exit_handlers_run_at_the_end_of_a_process(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        run(PutsAway(tmp_path), tasks=["a"], workers=1)
        assert [path.name for path in tmp_path.iterdir()] == ["ended"]
        assert capfd.readouterr().out == "half a line"

    def test_threads_may_finish(self, tmp_path: Path) -> None:
        run(Lingers(tmp_path), tasks=["a"], workers=1)
        assert {path.name for path in tmp_path.iterdir()} == {"ended", "late"}


class TestMessages:
    def test_large_tasks_go_both_ways_at_once(self) -> None:
        """Neither side may wait for the other to read."""
        result = run(Twice(), tasks=[f"{number}" + "x" * 1_000_000 for number in range(12)])
        assert len(result) == 24

    def test_a_task_that_cannot_be_sent(self) -> None:
        with pytest.raises(PipelineError) as caught:
            run(Same(), tasks=[threading.Lock()])
        message = str(caught.value)
        assert (
            "(Task) cannot be sent to a worker process, because it cannot be pickled (" in message
        )
        assert message.endswith("use tasks of plain data, or run with LocalExecutor(workers=0)")

    def test_an_output_that_cannot_be_sent(self) -> None:
        class Locks(Numbers):
            def process(self, task: Task[Any]) -> Task[Any]:
                return Task(threading.Lock())

        with pytest.raises(StageError) as caught:
            run(Locks(), tasks=[1])
        assert "stage 'locks' returned a task that cannot leave its worker process" in str(
            caught.value
        )

    def test_a_stage_that_cannot_be_sent(self) -> None:
        class Holding(Same):
            def __init__(self) -> None:
                self.lock = threading.Lock()

        with pytest.raises(PipelineError) as caught:
            run(Holding(), tasks=[1])
        assert str(caught.value).startswith(
            "stage 'holding' cannot be sent to a worker process: its attribute 'lock' is a lock, "
            "which cannot be pickled ("
        )
        assert str(caught.value).endswith(
            "make it in setup(), or run with LocalExecutor(workers=0)"
        )


class Leaves(Numbers):
    """Ends its process as the task says."""

    def __init__(self, folder: str, times: int) -> None:
        self.folder = folder
        self.times = times

    def process(self, task: Task[Any]) -> Task[Any]:
        if isinstance(task.data, str) and len(os.listdir(self.folder)) < self.times:
            Path(self.folder, f"{time.time_ns()}").touch()
            if task.data == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.Signals[task.data])
        return task


class KilledWhileStarting(Same):
    """Its process is killed while it unpacks the pipeline, this many times."""

    def __init__(self, folder: Path, signal_name: str, times: int) -> None:
        self.folder, self.signal_name, self.times = folder, signal_name, times
        self.parent = os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if os.getpid() != self.parent and len(os.listdir(self.folder)) < self.times:
            (self.folder / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.Signals[self.signal_name])


class TestDeaths:
    @pytest.mark.parametrize(
        ("data", "reason", "deaths"),
        [
            ("SIGKILL", "was killed by SIGKILL", 4),  # that may have come from outside
            ("SIGSEGV", "was killed by SIGSEGV", 2),
            ("exit", "exited with code 3", 2),
        ],
    )
    def test_a_task_survives_one_death_but_not_two(
        self,
        data: str,
        reason: str,
        deaths: int,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        once = run(Leaves(str(tmp_path), 1), tasks=[1, 2, data, 3])
        assert len(once) == 4
        message = f"a worker at stage 'leaves' {reason}; others continue its work"
        assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
            message
        ]
        assert once.worker_restarts == {reason: 1}
        twice = run(Leaves(str(tmp_path), 9), tasks=[1, 2, data, 3])
        assert [record.reason for record in twice.quarantined] == [f"its worker {reason}"]
        assert twice.quarantined[0].attempts == deaths
        assert len(twice) == 3

    @pytest.mark.parametrize(("policy", "left"), [("skip", 2), ("quarantine", 2)])
    def test_the_error_policy_applies_to_deaths(
        self, policy: Any, left: int, tmp_path: Path
    ) -> None:
        stage = Leaves(str(tmp_path), 9).with_(on_error=policy)
        result = run(stage, tasks=[1, "SIGKILL", 2])
        assert len(result) == left
        assert len(result.quarantined) == (policy == "quarantine")
        assert result.stages["leaves"].tasks_failed == 1

    def test_a_death_with_on_error_fail(self, tmp_path: Path) -> None:
        stage = Leaves(str(tmp_path), 9).with_(on_error="fail")
        with pytest.raises(
            StageError, match="stage 'leaves' failed: its worker was killed by SIGK"
        ):
            run(stage, tasks=["SIGKILL"])

    def test_repeated_deaths_outside_of_stages_fail_the_source(self) -> None:
        class Deadly:
            def __reduce__(self) -> Any:
                return os._exit, (7,)  # where the parent's message is unpacked

        result = run(Same(), tasks=[1, Deadly(), 2])
        assert len(result) == 2
        [record] = result.quarantined
        assert (record.reason, record.attempts) == ("its worker exited with code 7", 3)

    def test_a_death_outside_of_stages_with_on_error_fail(self) -> None:
        class Deadly:
            def __reduce__(self) -> Any:
                return os._exit, (7,)

        with pytest.raises(StageError, match="stage 'same' or one behind it failed: its worker ex"):
            run(Same().with_(on_error="fail"), tasks=[Deadly()])

    def test_workers_that_never_start(self) -> None:
        class Dead(Same):
            def setup(self, worker: WorkerInfo) -> None:
                os._exit(5)

        with pytest.raises(StageError) as caught:
            run(Dead(), tasks=[1, 2])
        assert str(caught.value) == (
            "3 workers in a row failed to start: the last one exited with code 5 while stage "
            "'dead' was being set up; try LocalExecutor(workers=0) to see what happens"
        )

    @pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM"])
    def test_workers_killed_during_startup_are_not_blamed_on_a_stage(
        self, number: str, tmp_path: Path
    ) -> None:
        result = run(KilledWhileStarting(tmp_path, number, 8), tasks=[1, 2, 3])
        assert len(result) == 3
        assert result.quarantined == []
        assert result.worker_restarts == {f"was killed by {number}": 8}

    def test_workers_always_killed_during_startup_end_the_run(self, tmp_path: Path) -> None:
        with pytest.raises(StageError, match="was killed by SIGKILL") as caught:
            run(KilledWhileStarting(tmp_path, "SIGKILL", 10_000), tasks=[1, 2, 3])
        assert "lack of memory" in str(caught.value)

    def test_a_worker_that_closes_its_pipe_and_lives_on(self, tmp_path: Path) -> None:
        class Closes(Numbers):
            def process(self, task: Task[Any]) -> Task[Any]:
                if task.data == "close" and not (tmp_path / "once").exists():
                    (tmp_path / "once").touch()
                    os.closerange(3, 256)
                    time.sleep(600)
                return task

        from curator_core.local import worker_process

        worker_process.TEARDOWN_S, patience = 0.3, worker_process.TEARDOWN_S
        try:
            result = run(Closes(), tasks=[1, "close", 2])
        finally:
            worker_process.TEARDOWN_S = patience
        assert len(result) == 3
        assert result.worker_restarts == {"no longer answered": 1}


class Marks(Same):
    """Leaves a file for each step of its life."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup_on_node(self, node: NodeInfo) -> None:
        Path(self.folder, f"node-{os.getpid()}").touch()
        if len(os.listdir(self.folder)) == 1:
            time.sleep(0.3)
            os._exit(1)

    def setup(self, worker: WorkerInfo) -> None:
        Path(self.folder, f"setup-{os.getpid()}").touch()


def test_a_node_is_prepared_again_after_a_death_during_it(tmp_path: Path) -> None:
    result = run(Marks(str(tmp_path)), tasks=list(range(8)))
    assert len(result) == 8
    made = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert made.count("node") == 2
    assert made.count("setup") >= 1


class Slow(Same):
    """One call among quick ones takes too long."""

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(600 if task.data == "slow" else 0.005)
        return task


def test_only_the_task_that_hangs_is_blamed() -> None:
    tasks: list[object] = [*range(60)]
    tasks.insert(31, "slow")
    result = run(Slow(), tasks=tasks, timeout_s=1.5)  # a busy machine lets quick ones wait, too
    assert len(result) == 60
    [record] = result.quarantined
    assert record.reason == "its worker took longer than its timeout_s of 1.5 s"
    assert result.worker_restarts == {"took longer than its timeout_s of 1.5 s": 2}


def test_no_process_is_left() -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    run(Same(), tasks=list(range(10)))
    assert {process.pid for process in psutil.Process().children(recursive=True)} == before
