"""Nodes that are killed in mid-run, that join in mid-run, and clusters that become too small."""

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
"""Tasks that last until a node that joins is at work; it ends early when that has been seen."""


def ran_with(pipeline: Pipeline, count: int, after: int, happens: Callable[[], Any]) -> RunResult:
    """Run it, and when so many outputs have come, let something happen."""
    stream = pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(count)])
    outputs = []
    for output in stream:
        outputs.append(output)
        if len(outputs) == after:
            happens()
    assert len(outputs) > after, "it was over before anything could happen"
    stream.result.tasks = outputs
    return stream.result


class Fattens(ProcessingStage[Task[Any], Task[Any]]):
    """Gives a megabyte for a number, so that it has to stay where it was made."""

    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.02)
        return task.with_data((task.data, bytes([task.data % 251]) * 1_000_000))


class Number(ProcessingStage[Task[Any], Task[Any]]):
    """Something that can be written, whatever it was given."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(1)


class Thins(ProcessingStage[Task[Any], Task[Any]]):
    """The number again, if the megabyte is whole."""

    def process(self, task: Task[Any]) -> Task[Any]:
        number, fat = task.data
        assert fat == bytes([number % 251]) * 1_000_000
        time.sleep(0.04)
        return task.with_data(number)


def files(out: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in out.glob("part-*")}


def fat_pipeline(out: Path) -> Pipeline:
    """Megabytes go through the store from one stage to the next, and become small files."""
    out.mkdir()
    apart = {"streaming": {"fuse": False}}
    stages: list[Any] = [Fattens(), Thins().with_(hints=apart), Writes(str(out))]
    return Pipeline("fat", stages=stages, max_failures=None)


class TestAKilledNode:
    def test_the_files_are_those_of_an_undisturbed_run(self, field: Grid, tmp_path: Path) -> None:
        calm = fat_pipeline(tmp_path / "calm")
        calm.run(StreamingExecutor(), tasks=[Task(n) for n in range(60)])
        doomed = field.add(num_cpus=1)

        pipeline = fat_pipeline(tmp_path / "out")
        result = ran_with(pipeline, 60, 20, lambda: field.kill(doomed))

        assert (result.sources_done, result.quarantined) == (60, [])
        assert files(tmp_path / "out") == files(tmp_path / "calm")
        assert set(result.worker_restarts) == {"was on a node that is gone"}
        assert sum(result.worker_restarts.values()) <= 3, "they were started there again and again"
        say("killed a node:", result.worker_restarts, "sources:", result.sources_done)

    def test_each_of_three_nodes_in_turn(self, field: Grid, tmp_path: Path) -> None:
        pipeline = fat_pipeline(tmp_path / "out")
        doomed = [field.add(num_cpus=1) for _ in range(3)]
        tasks = [Task(n) for n in range(120)]
        for done, _ in enumerate(pipeline.stream(StreamingExecutor(), tasks=tasks)):
            if done % 25 == 24 and doomed:
                field.kill(doomed.pop())

        assert not doomed
        found = files(tmp_path / "out").values()
        assert sorted(found, key=int) == [f"{n}\n" for n in range(120)]

    def test_outputs_that_were_lost_before_they_were_fetched_are_made_again(
        self, field: Grid
    ) -> None:
        """The consumer is slow: final outputs wait in the store of the node that dies."""
        import ray

        doomed = field.add(num_cpus=1, resources={"here": 1})
        there = Fattens().with_(resources=Resources(cpus=0.5, custom={"here": 0.1}))
        pipeline = Pipeline("p", stages=[there], max_failures=None)
        seen = []
        stream = pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(30)])
        for task in stream:
            seen.append(task.data[0])
            if len(seen) == 5:
                time.sleep(0.5)
                field.lose(doomed)
                field.add(num_cpus=1, resources={"here": 1})
        assert ray.is_initialized()
        assert sorted(seen) == list(range(30))


class TestANodeThatJoins:
    def test_it_is_used(self, field: Grid, tmp_path: Path) -> None:
        joined = tmp_path / "joined"
        pipeline = Pipeline("p", stages=[UntilSeen(0.25, joined=str(joined))])

        result = ran_with(
            pipeline, PLENTY, 10, lambda: joined.write_text(field.add(num_cpus=2).node_id)
        )

        assert len(result) == PLENTY
        assert joined.read_text() in by(met(result, "until_seen"), "node")

    def test_a_stage_with_workers_of_its_own_moves_in(self, field: Grid, tmp_path: Path) -> None:
        joined = tmp_path / "joined"
        first = field.add(num_cpus=1, resources={"rare": 1})
        rare = UntilSeen(0.25, joined=str(joined)).with_(name="rare", resources=RARE)
        pipeline = Pipeline("p", stages=[rare])

        def join() -> None:
            joined.write_text(field.add(num_cpus=1, resources={"rare": 1}).node_id)

        result = ran_with(pipeline, PLENTY, 10, join)

        nodes = {first.node_id, joined.read_text()}
        assert set(by(met(result, "rare"), "node")) == nodes


class TestAClusterThatBecomesTooSmall:
    """The only node with something rare goes away in mid-run."""

    @staticmethod
    def pipeline(out: Path) -> Pipeline:
        out.mkdir(exist_ok=True)
        rare = Where(0.05).with_(name="rare", resources=RARE)
        return Pipeline("g", stages=[rare, Number(), Writes(str(out))], max_failures=None)

    def begin(
        self, out: Path, limit_s: float, happens: Callable[[], Any], count: int = 60
    ) -> Iterator[Any]:
        executor = StreamingExecutor(config={"shrink_limit_s": limit_s})
        stream = self.pipeline(out).stream(executor, tasks=[Task(n) for n in range(count)])
        for done, output in enumerate(stream):
            yield output
            if done == 10:
                happens()

    def test_it_goes_on_with_one_that_joins_in_time(self, field: Grid, tmp_path: Path) -> None:
        doomed = field.add(num_cpus=1, resources={"rare": 1})
        added: list[Any] = []

        def lose_and_find() -> None:
            field.lose(doomed)
            added.append(field.add(num_cpus=1, resources={"rare": 1}))

        outputs = list(self.begin(tmp_path / "out", 60, lose_and_find))

        assert added
        assert len(outputs) == len(files(tmp_path / "out")) == 60

    def test_it_fails_after_a_limit_and_the_rest_can_be_done_later(
        self, field: Grid, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        doomed = field.add(num_cpus=1, resources={"rare": 1})
        begun = time.monotonic()

        with pytest.raises(StageError) as error:
            list(self.begin(tmp_path / "out", 3, lambda: field.kill(doomed)))

        said = str(error.value)
        assert "rare needs 0.5 CPUs, 1 rare on one node, and for 3 s no node had that" in said
        assert "finished work is kept, run it again to resume" in said
        assert re.search("no node has that now: it waits up to [12] s", caplog.text)
        assert time.monotonic() - begun > 3
        before = len(files(tmp_path / "out"))
        assert 10 <= before < 60

        field.add(num_cpus=1, resources={"rare": 1})
        tasks = [Task(n) for n in range(60)]
        result = self.pipeline(tmp_path / "out").run(StreamingExecutor(), tasks=tasks)
        assert result.sources_skipped == before
        assert len(files(tmp_path / "out")) == 60
