"""Nodes that die or join during a run, and clusters that become too small."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, UntilSeen, Where, by, met, say
from curator_core import Pipeline, ProcessingStage, Resources, RunResult, Task
from curator_core.errors import StageError
from curator_core.testing.contract.stages import Writes
from curator_streaming.executor import StreamingExecutor

RARE = Resources(cpus=0.5, custom={"rare": 1})
PLENTY = 400
"""More tasks than needed: they end early once a task ran on the node that joined."""


def run_with(pipeline: Pipeline, count: int, after: int, action: Callable[[], Any]) -> RunResult:
    """Run a pipeline, and call `action` after this many outputs."""
    stream = pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(count)])
    outputs = []
    for output in stream:
        outputs.append(output)
        if len(outputs) == after:
            action()
    assert len(outputs) > after, "the run was over too early"
    stream.result.tasks = outputs
    return stream.result


class Inflates(ProcessingStage[Task[Any], Task[Any]]):
    """Makes a megabyte from a number, which stays on the node that made it."""

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.02)
        return task.with_data((task.data, bytes([task.data % 251]) * 1_000_000))


class One(ProcessingStage[Task[Any], Task[Any]]):
    """Replaces any data by a number that can be written."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(1)


class Deflates(ProcessingStage[Task[Any], Task[Any]]):
    """Checks the megabyte, and returns the number."""

    def process(self, task: Task[Any]) -> Task[Any]:
        number, data = task.data
        assert data == bytes([number % 251]) * 1_000_000
        time.sleep(0.04)
        return task.with_data(number)


def files(out: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in out.glob("part-*")}


def inflating_pipeline(out: Path) -> Pipeline:
    """Megabytes pass through the store between two stages, and become small files."""
    out.mkdir()
    unfused = {"streaming": {"fuse": False}}
    stages: list[Any] = [Inflates(), Deflates().with_(hints=unfused), Writes(str(out))]
    return Pipeline("inflating", stages=stages, max_failures=None)


class TestAKilledNode:
    def test_the_files_equal_those_of_an_undisturbed_run(self, field: Grid, tmp_path: Path) -> None:
        calm = inflating_pipeline(tmp_path / "calm")
        calm.run(StreamingExecutor(), tasks=[Task(n) for n in range(60)])
        doomed = field.add(num_cpus=1)

        pipeline = inflating_pipeline(tmp_path / "out")
        result = run_with(pipeline, 60, 20, lambda: field.kill(doomed))

        assert (result.sources_done, result.quarantined) == (60, [])
        assert files(tmp_path / "out") == files(tmp_path / "calm")
        assert set(result.worker_restarts) == {"was on a node that was lost"}
        assert sum(result.worker_restarts.values()) <= 3, "workers were started on the dead node"
        say("killed a node:", result.worker_restarts, "sources:", result.sources_done)

    def test_three_nodes_die_one_after_the_other(self, field: Grid, tmp_path: Path) -> None:
        pipeline = inflating_pipeline(tmp_path / "out")
        doomed = [field.add(num_cpus=1) for _ in range(3)]
        tasks = [Task(n) for n in range(120)]
        for done, _ in enumerate(pipeline.stream(StreamingExecutor(), tasks=tasks)):
            if done % 25 == 24 and doomed:
                field.kill(doomed.pop())

        assert not doomed
        found = files(tmp_path / "out").values()
        assert sorted(found, key=int) == [f"{n}\n" for n in range(120)]

    @pytest.mark.soak
    def test_final_outputs_that_are_lost_are_made_again(self, field: Grid) -> None:
        """With a slow consumer, final outputs wait in the store of the node that dies."""
        import ray

        doomed = field.add(num_cpus=1, resources={"here": 1})
        there = Inflates().with_(resources=Resources(cpus=0.5, custom={"here": 0.1}))
        pipeline = Pipeline("p", stages=[there], max_failures=None)
        seen = []
        stream = pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(30)])
        for task in stream:
            seen.append(task.data[0])
            if len(seen) == 5:
                time.sleep(0.5)
                field.kill(doomed)
                field.add(num_cpus=1, resources={"here": 1})
        assert ray.is_initialized()
        assert sorted(seen) == list(range(30))


class TestANodeThatJoins:
    def test_it_is_used(self, field: Grid, tmp_path: Path) -> None:
        joined = tmp_path / "joined"
        pipeline = Pipeline("p", stages=[UntilSeen(0.25, joined=str(joined))])

        result = run_with(
            pipeline, PLENTY, 10, lambda: joined.write_text(field.add(num_cpus=2).node_id)
        )

        assert len(result) == PLENTY
        assert joined.read_text() in by(met(result, "until_seen"), "node")

    @pytest.mark.soak
    def test_a_stage_with_dedicated_workers_uses_it(self, field: Grid, tmp_path: Path) -> None:
        joined = tmp_path / "joined"
        first = field.add(num_cpus=1, resources={"rare": 1})
        rare = UntilSeen(0.25, joined=str(joined)).with_(name="rare", resources=RARE)
        pipeline = Pipeline("p", stages=[rare])

        def join() -> None:
            joined.write_text(field.add(num_cpus=1, resources={"rare": 1}).node_id)

        result = run_with(pipeline, PLENTY, 10, join)

        nodes = {first.node_id, joined.read_text()}
        assert set(by(met(result, "rare"), "node")) == nodes


@pytest.mark.soak
class TestAClusterThatBecomesTooSmall:
    """The only node with a rare resource dies during the run."""

    @staticmethod
    def pipeline(out: Path) -> Pipeline:
        out.mkdir(exist_ok=True)
        rare = Where(0.05).with_(name="rare", resources=RARE)
        return Pipeline("g", stages=[rare, One(), Writes(str(out))], max_failures=None)

    def stream(
        self, out: Path, limit_s: float, action: Callable[[], Any], count: int = 60
    ) -> Iterator[Any]:
        executor = StreamingExecutor(config={"shrink_limit_s": limit_s})
        stream = self.pipeline(out).stream(executor, tasks=[Task(n) for n in range(count)])
        for done, output in enumerate(stream):
            yield output
            if done == 10:
                action()

    def test_it_continues_if_another_joins_in_time(self, field: Grid, tmp_path: Path) -> None:
        doomed = field.add(num_cpus=1, resources={"rare": 1})
        added: list[Any] = []

        def replace_node() -> None:
            field.kill(doomed)
            added.append(field.add(num_cpus=1, resources={"rare": 1}))

        outputs = list(self.stream(tmp_path / "out", 60, replace_node))

        assert added
        assert len(outputs) == len(files(tmp_path / "out")) == 60

    def test_it_fails_after_a_limit_and_can_be_resumed(
        self, field: Grid, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        doomed = field.add(num_cpus=1, resources={"rare": 1})
        begun = time.monotonic()

        with pytest.raises(StageError) as error:
            list(self.stream(tmp_path / "out", 3, lambda: field.kill(doomed)))

        message = str(error.value)
        assert "rare needs 0.5 CPUs, 1 rare on one node, and no node had that for 3 s" in message
        assert "run it again to resume" in message
        assert re.search("no node has that: waiting up to [12] s", caplog.text)
        assert time.monotonic() - begun > 3
        before = len(files(tmp_path / "out"))
        assert 10 <= before < 60

        field.add(num_cpus=1, resources={"rare": 1})
        tasks = [Task(n) for n in range(60)]
        result = self.pipeline(tmp_path / "out").run(StreamingExecutor(), tasks=tasks)
        assert result.sources_skipped == before
        assert len(files(tmp_path / "out")) == 60
