"""Workers that Ray does not start, because others hold what they need."""

import logging
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_streaming import crews
from curator_streaming.executor import StreamingExecutor


class Same(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


@pytest.mark.usefixtures("private_ray")
def test_it_is_said_that_a_worker_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import ray

    class Holds:  # in here, so that it travels by value
        def hello(self) -> int:
            return 1

    monkeypatch.setattr(crews, "START_PATIENCE_S", 1.0)
    most = int(ray.cluster_resources()["memory"] * 0.9)
    holds: Any = ray.remote(Holds)
    holder = holds.options(num_cpus=0, memory=most).remote()
    ray.get(holder.hello.remote())
    needy = Same().with_(name="needy", resources=Resources(memory_gb=most / 1e9), num_workers=1)

    class Frees(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has been waiting" in record.getMessage():
                ray.kill(holder)

    frees = Frees()
    logging.getLogger("curator_core").addHandler(frees)
    try:
        result = Pipeline("p", stages=[needy]).run(StreamingExecutor(), tasks=[Task(1)])
    finally:
        logging.getLogger("curator_core").removeHandler(frees)

    assert len(result) == 1
    assert r"(needy) has been waiting for" in caplog.text
