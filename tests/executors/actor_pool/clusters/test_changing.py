"""Nodes that are killed or join during a run, and hardware that never comes back."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, UntilSeen, Where, by, met
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Pipeline, ProcessingStage, Resources, RunResult, Task, WorkerInfo
from curator_core.errors import ResourceError
from curator_core.testing.contract.logs import note, read_log
from curator_core.testing.contract.stages import Writes
from waitkit import eventually

pytestmark = pytest.mark.soak  # as with streaming, in every run

RARE = Resources(cpus=0.5, custom={"rare": 1})


@dataclass
class Enlarges(ProcessingStage[Task[Any], Task[Any]]):
    """Returns a megabyte for a number, so that its output stays on its node; logs the node."""

    log: str

    def setup(self, worker: WorkerInfo) -> None:
        self._node = worker.node.node_id

    def process(self, task: Task[Any]) -> Task[Any]:
        note(self.log, "started", str(task.data), self._node)
        time.sleep(0.02)
        return task.with_data((task.data, bytes([task.data % 251]) * 1_000_000))


class Reduces(ProcessingStage[Task[Any], Task[Any]]):
    """Checks the megabyte and returns the number."""

    def process(self, task: Task[Any]) -> Task[Any]:
        number, data = task.data
        assert data == bytes([number % 251]) * 1_000_000
        time.sleep(0.03)
        return task.with_data(number)


def run_with(
    pipeline: Pipeline, count: int, after: int, happens: Callable[[], Any], **config: Any
) -> RunResult:
    """Run it, and call `happens` after this many outputs."""
    executor = RayActorPoolExecutor(config=config)
    stream = pipeline.stream(executor, tasks=[Task(n) for n in range(count)])
    outputs = []
    for output in stream:
        outputs.append(output)
        if len(outputs) == after:
            happens()
    assert len(outputs) > after, "the run ended too early"
    stream.result.tasks = outputs
    return stream.result


def test_the_files_are_complete_if_a_node_is_killed(changing: Grid, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    doomed = [changing.add(num_cpus=1) for _ in range(2)]
    log = str(tmp_path / "log")
    stages: list[Any] = [Enlarges(log), Reduces(), Writes(str(tmp_path / "out"))]
    pipeline = Pipeline("large", stages=stages, max_failures=None)
    killers: list[threading.Thread] = []

    def kill_while_they_work() -> None:
        """Kill the nodes once they have tasks of the next round."""
        earlier, ids = len(read_log(log)), {node.node_id for node in doomed}

        def kill() -> None:
            if eventually(lambda: any(event.place in ids for event in read_log(log)[earlier:])):
                for node in doomed:
                    changing.kill(node)

        killers.append(threading.Thread(target=kill))
        killers[0].start()

    result = run_with(pipeline, 80, 21, kill_while_they_work)
    killers[0].join()

    assert (result.sources_done, result.quarantined) == (80, [])
    found = sorted(int(path.read_text()) for path in (tmp_path / "out").glob("part-*"))
    assert found == list(range(80))
    assert set(result.worker_restarts) == {"was on a node that was lost"}
    assert {counts.tasks_passed for counts in result.stages.values()} == {80}


def test_a_node_that_joins_is_used(changing: Grid, tmp_path: Path) -> None:
    joined = tmp_path / "joined"
    pipeline = Pipeline("p", stages=[UntilSeen(0.25, joined=str(joined))])

    result = run_with(pipeline, 400, 4, lambda: joined.write_text(changing.add(num_cpus=2).node_id))

    assert len(result) == 400
    assert joined.read_text() in by(met(result, "until_seen"), "node")


def test_the_wait_for_lost_hardware_has_a_limit(
    changing: Grid, caplog: pytest.LogCaptureFixture
) -> None:
    doomed = changing.add(num_cpus=1, resources={"rare": 1})
    pipeline = Pipeline("p", stages=[Where(0.05).with_(name="rare", resources=RARE)])

    with pytest.raises(ResourceError, match=r"'rare' waited for 3 s for a node with what it needs"):
        run_with(pipeline, 60, 5, lambda: changing.kill(doomed), wait_limit_s=3)

    assert "no node has what stage 'rare' needs now; it waits up to 3 s" in caplog.text
