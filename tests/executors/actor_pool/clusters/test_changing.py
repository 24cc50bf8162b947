"""Nodes that are killed in mid-run, that join in mid-run, and hardware that never comes back."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, UntilSeen, Where, by, met
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, Resources, RunResult, Task
from curator_core.errors import ResourceError
from curator_core.testing.contract.stages import Writes

RARE = Resources(cpus=0.5, custom={"rare": 1})


class Fattens(ProcessingStage[Task[Any], Task[Any]]):
    """Gives a megabyte for a number, so that it has to stay where it was made."""

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.02)
        return task.with_data((task.data, bytes([task.data % 251]) * 1_000_000))


class Thins(ProcessingStage[Task[Any], Task[Any]]):
    """The number again, if the megabyte is whole."""

    def process(self, task: Task[Any]) -> Task[Any]:
        number, fat = task.data
        assert fat == bytes([number % 251]) * 1_000_000
        time.sleep(0.03)
        return task.with_data(number)


def ran_with(
    pipeline: Pipeline, count: int, after: int, happens: Callable[[], Any], **config: Any
) -> RunResult:
    """Run it, and when so many outputs have come, let something happen."""
    executor = RayActorPoolExecutor(config=config)
    stream = pipeline.stream(executor, tasks=[Task(n) for n in range(count)])
    outputs = []
    for output in stream:
        outputs.append(output)
        if len(outputs) == after:
            happens()
    assert len(outputs) > after, "it was over before anything could happen"
    stream.result.tasks = outputs
    return stream.result


def test_a_node_is_killed_and_the_files_are_those_of_an_undisturbed_run(
    field: Grid, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    doomed = [field.add(num_cpus=1) for _ in range(2)]
    stages: list[Any] = [Fattens(), Thins(), Writes(str(tmp_path / "out"))]
    pipeline = Pipeline("fat", stages=stages, max_failures=None)
    events: list[Any] = []

    def kill_while_it_works() -> None:
        """The first stage of the next round is at work then, or the one behind it."""
        import threading

        events.append(threading.Timer(0.4, lambda: [field.kill(node) for node in doomed]))
        events[0].start()

    result = ran_with(pipeline, 80, 21, kill_while_it_works)
    events[0].join()

    assert (result.sources_done, result.quarantined) == (80, [])
    found = sorted(int(path.read_text()) for path in (tmp_path / "out").glob("part-*"))
    assert found == list(range(80))
    assert set(result.worker_restarts) == {"was on a node that is gone"}
    assert {counts.tasks_passed for counts in result.stages.values()} == {80}


def test_a_node_that_joins_is_used(field: Grid, tmp_path: Path) -> None:
    joined = tmp_path / "joined"
    pipeline = Pipeline("p", stages=[UntilSeen(0.25, joined=str(joined))])

    result = ran_with(pipeline, 400, 4, lambda: joined.write_text(field.add(num_cpus=2).node_id))

    assert len(result) == 400
    assert joined.read_text() in by(met(result, "until_seen"), "node")


def test_hardware_that_is_gone_is_waited_for_and_not_for_ever(
    field: Grid, caplog: pytest.LogCaptureFixture
) -> None:
    doomed = field.add(num_cpus=1, resources={"rare": 1})
    pipeline = Pipeline("p", stages=[Where(0.05).with_(name="rare", resources=RARE)])

    with pytest.raises(ResourceError, match=r"'rare' waited for 3 s for a node with what it needs"):
        ran_with(pipeline, 60, 5, lambda: field.kill(doomed), wait_limit_s=3)

    assert "no node has what stage 'rare' needs now; it waits up to 3 s" in caplog.text
