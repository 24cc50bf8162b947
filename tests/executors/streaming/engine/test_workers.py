"""Workers that Ray cannot start because another job holds what they need."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, RunInterrupted, Task
from curator_streaming.engine import workers
from curator_streaming.executor import StreamingExecutor


class Same(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


pytestmark = pytest.mark.usefixtures("private_ray")


@pytest.fixture
def holder() -> Iterator[Any]:
    """An actor of another job that holds most of the memory of the cluster."""
    import ray

    class Holds:  # local, so that it is pickled by value
        def hello(self) -> int:
            return 1

    holds: Any = ray.remote(Holds)
    holder = holds.options(num_cpus=0, memory=_most_memory()).remote()
    ray.get(holder.hello.remote())
    yield holder
    ray.kill(holder)


def _most_memory() -> int:
    import ray

    return int(ray.cluster_resources()["memory"] * 0.9)


@contextmanager
def on_slow_start(action: Callable[[], object]) -> Iterator[None]:
    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has been starting" in record.getMessage():
                action()

    listener = Listener()
    logging.getLogger("curator_core").addHandler(listener)
    try:
        yield
    finally:
        logging.getLogger("curator_core").removeHandler(listener)


def run_needy() -> Any:
    asks = Resources(memory_gb=_most_memory() / 1e9)
    needy = Same().with_(name="needy", resources=asks, num_workers=1)
    return Pipeline("p", stages=[needy]).run(StreamingExecutor(), tasks=[Task(1)])


def test_a_slow_start_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, holder: Any
) -> None:
    import ray

    monkeypatch.setattr(workers, "START_WARNING_S", 1.0)

    with on_slow_start(lambda: ray.kill(holder)):
        result = run_needy()

    assert len(result) == 1
    assert r"(needy) has been starting for" in caplog.text


@pytest.mark.usefixtures("holder")
def test_stopping_does_not_wait_for_a_worker_that_never_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "START_WARNING_S", 1.0)
    requested: list[float] = []

    def request_stop() -> None:
        requested.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with on_slow_start(request_stop), pytest.raises(RunInterrupted):
        run_needy()

    assert time.monotonic() - requested[0] < 10
