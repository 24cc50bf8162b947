"""Workers that Ray does not start, because others hold what they need."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, RunInterrupted, Task
from curator_streaming import crews
from curator_streaming.executor import StreamingExecutor


class Same(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


pytestmark = pytest.mark.usefixtures("private_ray")


@pytest.fixture
def holder() -> Iterator[Any]:
    """Somebody who holds most of the memory of the cluster."""
    import ray

    class Holds:  # in here, so that it travels by value
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
def when_it_waits(does: Callable[[], object]) -> Iterator[None]:
    class Hears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has been waiting" in record.getMessage():
                does()

    hears = Hears()
    logging.getLogger("curator_core").addHandler(hears)
    try:
        yield
    finally:
        logging.getLogger("curator_core").removeHandler(hears)


def run_needy() -> Any:
    asks = Resources(memory_gb=_most_memory() / 1e9)
    needy = Same().with_(name="needy", resources=asks, num_workers=1)
    return Pipeline("p", stages=[needy]).run(StreamingExecutor(), tasks=[Task(1)])


def test_it_is_said_that_a_worker_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, holder: Any
) -> None:
    import ray

    monkeypatch.setattr(crews, "START_PATIENCE_S", 1.0)

    with when_it_waits(lambda: ray.kill(holder)):
        result = run_needy()

    assert len(result) == 1
    assert r"(needy) has been waiting for" in caplog.text


@pytest.mark.usefixtures("holder")
def test_the_end_does_not_wait_for_a_worker_that_never_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crews, "START_PATIENCE_S", 1.0)
    asked: list[float] = []

    def ask_for_the_end() -> None:
        asked.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with when_it_waits(ask_for_the_end), pytest.raises(RunInterrupted):
        run_needy()

    assert time.monotonic() - asked[0] < 10
