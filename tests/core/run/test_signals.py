"""Signals: the first one requests a stop, the second one interrupts."""

import os
import signal
import threading
from pathlib import Path

import pytest
from curator_core import LocalExecutor, Pipeline, ProcessingStage, RunInterrupted, Task
from curator_core.plan import stop_request
from curator_core.plan.stop_request import StopRequest
from curator_core.run.signals import stop_on_signals


class Interrupting(ProcessingStage[Task[int], Task[int]]):
    """Sends the signal to its own process, as often as the task says."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.worked = 0

    def process(self, task: Task[int]) -> Task[int]:
        for _ in range(task.data):
            os.kill(os.getpid(), self.number)
        self.worked += 1
        return task

    def teardown(self) -> None:
        self.is_torn_down = True


def run(stage: Interrupting, *numbers: int) -> RunInterrupted:
    pipeline = Pipeline("job", stages=[stage])
    with pytest.raises(RunInterrupted) as caught:
        pipeline.run(LocalExecutor(workers=0), [Task(number) for number in numbers])
    assert stage.is_torn_down
    return caught.value


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
class TestSignals:
    def test_the_first_signal_lets_running_work_finish(self, number: int, code: int) -> None:
        stage = Interrupting(number)
        error = run(stage, 0, 1, 0, 0)
        assert stage.worked == 2
        assert str(error) == (
            f"stopped by {signal.Signals(number).name}: 2 sources done; "
            "nothing is kept without a run_dir"
        )
        assert error.exit_code == code

    def test_the_second_signal_interrupts_it(self, number: int, code: int) -> None:
        stage = Interrupting(number)
        error = run(stage, 0, 2, 0)
        assert stage.worked == 1
        assert str(error) == "stopped at once; nothing is kept without a run_dir"
        assert error.exit_code == code


@pytest.mark.parametrize(
    ("presses", "message"),
    [
        (1, "stopped by SIGINT: 2 sources done and kept; run the same command again to resume"),
        (2, "stopped at once: what is finished is kept; run the same command again to resume"),
    ],
)
def test_an_interrupted_run_says_that_finished_work_is_kept(
    tmp_path: Path, presses: int, message: str
) -> None:
    pipeline = Pipeline("job", stages=[Interrupting(signal.SIGINT)])
    tasks = [Task(0), Task(presses), Task(0)]
    with pytest.raises(RunInterrupted) as caught:
        pipeline.run(LocalExecutor(workers=0), tasks, run_dir=str(tmp_path / "run"))
    assert str(caught.value) == message


def test_a_run_restores_the_handlers() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run(Interrupting(signal.SIGINT), 1)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_streams_that_end_in_the_order_of_their_start_restore_the_handlers() -> None:
    before = signal.getsignal(signal.SIGINT)
    streams = [
        Pipeline(name, stages=[Interrupting(0)]).stream(LocalExecutor(workers=0), [Task(0)])
        for name in ("first", "second")
    ]
    for stream in streams:
        next(stream)
    for stream in streams:
        stream.close()
    assert signal.getsignal(signal.SIGINT) is before


def test_after_a_stream_ended_in_another_thread_ctrl_c_interrupts_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    stream = Pipeline("p", stages=[Interrupting(0)]).stream(LocalExecutor(workers=0), [Task(0)])
    next(stream)
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_stream_that_is_dropped_ends_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    stream = Pipeline("p", stages=[Interrupting(0)]).stream(LocalExecutor(workers=0), [Task(0)])
    next(stream)
    del stream
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_no_handler_is_installed() -> None:
    before = signal.getsignal(signal.SIGINT)
    found = []

    def look() -> None:
        with stop_on_signals(StopRequest()):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]


def test_the_drain_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = StopRequest()
    assert (asked.is_requested, asked.is_overdue) == (False, False)
    asked.request("SIGINT", 2)
    asked.request("SIGTERM", 15)
    assert (asked.reason, asked.signal_number) == ("SIGINT", 2)
    assert (asked.is_requested, asked.is_overdue) == (True, False)
    monkeypatch.setattr(stop_request, "DRAIN_S", -1.0)
    assert asked.is_overdue


def test_sigterm_leaves_less_time_than_the_ten_seconds_after_which_many_send_sigkill() -> None:
    asked = StopRequest()
    asked.request("SIGTERM", signal.SIGTERM)
    assert asked.drain_s <= 5.0


def test_a_run_directory_may_be_a_path(tmp_path: Path) -> None:
    pipeline = Pipeline("job", stages=[Interrupting(signal.SIGINT)])
    done = pipeline.run(LocalExecutor(workers=0), [Task(0)], run_dir=tmp_path / "run")
    assert done.run_dir == str(tmp_path / "run")
    again = Pipeline("job", stages=[Interrupting(signal.SIGINT)])
    assert again.retry(tmp_path / "run").quarantined == []
