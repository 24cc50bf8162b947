"""Batch mode: a stage starts when all stages before it are done."""

import time
from pathlib import Path
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.errors import StageError
from curator_core.testing.contract.stages import Fails, Writes
from curator_streaming.executor import StreamingExecutor

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]
BATCH = {"execution_mode": "batch"}


class Stamps(Numbers):
    """Notes when it started and ended."""

    def process(self, task: Task[Any]) -> Task[Any]:
        begun = time.time()
        time.sleep(0.01)
        return task.with_data([*task.data, (begun, time.time())])


def test_stages_run_one_after_the_other() -> None:
    stages = [Stamps().with_(name=name) for name in ("one", "two", "three")]

    result = Pipeline("p", stages=stages).run(
        StreamingExecutor(config=BATCH), tasks=[Task([]) for _ in range(60)]
    )

    assert len(result) == 60
    for stage in range(2):
        last_end = max(task.data[stage][1] for task in result)
        assert last_end <= min(task.data[stage + 1][0] for task in result)


def test_data_at_a_barrier_may_exceed_the_budget() -> None:
    class Large(Numbers):
        def process(self, task: Task[Any]) -> Task[Any]:
            return task.with_data(b"x" * 1_000_000)

    class Measures(Numbers):
        def process(self, task: Task[Any]) -> Task[Any]:
            return task.with_data(len(task.data))

    result = Pipeline("p", stages=[Large(), Measures()]).run(
        StreamingExecutor(config={**BATCH, "max_queued_bytes": 5_000_000}),
        tasks=[Task(n) for n in range(100)],
    )

    assert [task.data for task in result] == [1_000_000] * 100


def test_a_failed_run_is_resumed_by_the_next(tmp_path: Path) -> None:
    out, tasks = str(tmp_path / "out"), [Task(n) for n in range(20)]
    executor = StreamingExecutor(config=BATCH)
    bad = Pipeline("p", stages=[Fails(frozenset({12})), Writes(out)], max_failures=None)

    with pytest.raises(StageError, match="number 12 is bad"):
        bad.run(executor, tasks=tasks, on_error="fail")
    result = bad.run(executor, tasks=tasks)

    assert (result.sources_done + result.sources_skipped, len(result.files)) == (20, 19)
