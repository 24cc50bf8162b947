"""What the streaming executor does beside the contract: checks, options, environments, data."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.errors import PipelineError, ResourceError, StageError
from curator_streaming.executor import StreamingExecutor
from curator_streaming.options import StreamingOptions

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Same(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class Pid(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.02)
        return task.with_data(os.getpid())


class Reads(Numbers):
    """Gives the value of an environment variable."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(os.environ.get(task.data, ""))


@dataclass
class Inflates(Numbers):
    """Streams so many megabytes."""

    count: int = 30

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for _ in range(self.count):
            yield Task(b"x" * 1_000_000)


class Measures(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


class Breaks(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        raise ValueError("broken")


def ran(*stages: Numbers, data: Any = range(10), config: Any = None, **options: Any) -> Any:
    pipeline = Pipeline("p", stages=list(stages), **options)
    return pipeline.run(StreamingExecutor(config=config), tasks=[Task(one) for one in data])


class TestChecks:
    def test_what_no_node_has_is_refused_with_what_there_is(self) -> None:
        stage = Same().with_(name="wide", resources=Resources(cpus=64))

        with pytest.raises(ResourceError, match=r"'wide' asks for 64 CPU.*at most 2.*1 node"):
            ran(stage)

    def test_a_wrong_hint_names_the_nearest(self) -> None:
        with pytest.raises(PipelineError, match=r"'same': no streaming hint 'fused' .*fuse"):
            ran(Same().with_(hints={"streaming": {"fused": False}}))

    def test_a_hint_of_a_wrong_kind(self) -> None:
        with pytest.raises(PipelineError, match="'fuse' is 3, but must be a bool"):
            ran(Same().with_(hints={"streaming": {"fuse": 3}}))

    def test_options_and_a_config_are_one_too_many(self) -> None:
        with pytest.raises(PipelineError, match="options or a config, not both"):
            StreamingExecutor(StreamingOptions(), config={})


class TestOptions:
    def test_ignored_failures_are_set_aside(self) -> None:
        options: Any = {"on_error": "fail", "max_failures": None}

        with pytest.raises(StageError, match="broken"):
            ran(Breaks(), **options)
        result = ran(Breaks(), config={"ignore_failures": True}, **options)

        assert len(result.quarantined) == 10

    def test_how_it_goes_is_said_every_interval(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO", logger="curator_core"):
            ran(Pid(), data=range(150), config={"logging_interval": 0.3})

        said = [r.getMessage() for r in caplog.records if "streaming: pid:" in r.getMessage()]
        assert any(" done, " in line and "workers" in line for line in said)
        assert said[-1].startswith("streaming: pid: 150 tasks, ")
        assert "on shared workers" in said[-1]

    def test_what_held_it_up_stands_in_the_result(self, tmp_path: Path) -> None:
        pipeline = Pipeline("p", stages=[Pid()])
        tasks = [Task(n) for n in range(150)]

        result = pipeline.run(StreamingExecutor(), tasks=tasks, run_dir=str(tmp_path))

        assert "the bottleneck was pid: the CPUs were taken" in result.notes[0]
        events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        [summed_up] = [event for event in events if event["event"] == "workers_summed_up"]
        assert (summed_up["bottleneck"], summed_up["steps"][0]["tasks"]) == ("pid", 150)
        scaled = [event["reason"] for event in events if event["event"] == "scheduling"]
        assert scaled[0] == "1 shared worker started, for work waits"

    def test_workers_are_recycled_and_nothing_is_lost(self) -> None:
        result = ran(Pid(), data=range(150), config={"worker_max_tasks": 20})

        pids = Counter(task.data for task in result)
        assert (len(result), result.sources_done) == (150, 150)
        assert len(pids) > 2


class TestPlaces:
    def test_a_stage_may_have_an_environment_of_its_own(self) -> None:
        own = Reads().with_(name="own", runtime_env={"env_vars": {"CURATOR_TEST_MARK": "there"}})

        result = ran(own, data=["CURATOR_TEST_MARK"])

        assert [task.data for task in result] == ["there"]

    def test_a_fixed_number_of_workers(self) -> None:
        result = ran(Same(), Pid().with_(num_workers=1), data=range(20))

        assert len({task.data for task in result}) == 1

    def test_unfused_stages_pass_tasks_through_the_store(self) -> None:
        apart = Same().with_(name="apart", hints={"streaming": {"fuse": False}})

        result = ran(Same(), apart, Same().with_(name="last"), data=range(300))

        assert sorted(task.data for task in result) == list(range(300))


class TestData:
    def test_more_than_the_store_holds_flows_through(self) -> None:
        result = ran(
            Inflates(), Measures(), data=range(20), config={"max_queued_bytes": 60_000_000}
        )

        assert [task.data for task in result] == [1_000_000] * 600
        assert result.sources_done == 20

    def test_only_a_listing_stage(self) -> None:
        from curator_core.testing.contract.stages import Lists

        result = Pipeline("p", stages=[Lists(3)]).run(StreamingExecutor())

        assert sorted(task.data for task in result) == [0, 1, 2]


class TestSlowConsumers:
    def test_workers_are_looked_after_while_nobody_asks_for_outputs(self) -> None:
        pipeline = Pipeline("p", stages=[Pid()])

        with pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(300)]) as stream:
            os.kill(next(stream).data, signal.SIGKILL)
            until = time.monotonic() + 30
            while not stream.result.worker_restarts and time.monotonic() < until:
                time.sleep(0.05)
            assert len(stream.result.worker_restarts) == 1
            outputs = list(stream)

        assert len(outputs) == 299
        assert stream.result.sources_done == 300

    def test_what_nobody_has_taken_does_not_count_as_done(self) -> None:
        pipeline = Pipeline("p", stages=[Same()])

        with pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(300)]) as stream:
            next(stream)
            time.sleep(1.0)
            assert stream.result.sources_done == 0
            assert len(list(stream)) == 299

        assert stream.result.sources_done == 300
