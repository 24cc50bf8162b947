"""The streaming executor beyond the contract: checks, options, environments, large data."""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.errors import PipelineError, ResourceError, StageError
from curator_streaming.executor import StreamingExecutor
from curator_streaming.options import StreamingOptions
from waitkit import eventually

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Same(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


class Pid(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        time.sleep(0.02)
        return task.with_data(os.getpid())


@dataclass
class UntilProcesses(Numbers):
    """Takes its time until it has run in this many processes."""

    folder: str
    processes: int

    def process(self, task: Task[Any]) -> Task[Any]:
        Path(self.folder, str(os.getpid())).touch()
        if len(os.listdir(self.folder)) < self.processes:
            time.sleep(0.05)
        return task


class ReadsVariable(Numbers):
    """Replaces a name by the value of that environment variable."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(os.environ.get(task.data, ""))


@dataclass
class Inflates(Numbers):
    """Makes this many outputs of a megabyte."""

    count: int = 30

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for _ in range(self.count):
            yield Task(b"x" * 1_000_000)


@dataclass
class Logs(Numbers):
    """Appends a line to a file for each task."""

    file: str

    def process(self, task: Task[Any]) -> Task[Any]:
        with Path(self.file).open("a") as log:
            log.write("x\n")
        return task


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
    def test_a_demand_that_no_node_meets_is_refused(self) -> None:
        stage = Same().with_(name="wide", resources=Resources(cpus=64))

        with pytest.raises(ResourceError, match=r"'wide' asks for 64 CPU.*at most 2.*1 node"):
            ran(stage)

    def test_a_wrong_hint_names_the_nearest(self) -> None:
        with pytest.raises(PipelineError, match=r"'same': no streaming hint 'fused' .*fuse"):
            ran(Same().with_(hints={"streaming": {"fused": False}}))

    def test_a_hint_of_the_wrong_type(self) -> None:
        with pytest.raises(PipelineError, match="'fuse' is 3, but must be a bool"):
            ran(Same().with_(hints={"streaming": {"fuse": 3}}))

    def test_options_and_a_config_together_are_refused(self) -> None:
        with pytest.raises(PipelineError, match="options or a config, not both"):
            StreamingExecutor(StreamingOptions(), config={})


class TestOptions:
    def test_ignored_failures_are_quarantined(self) -> None:
        options: Any = {"on_error": "fail", "max_failures": None}

        with pytest.raises(StageError, match="broken"):
            ran(Breaks(), **options)
        result = ran(Breaks(), config={"ignore_failures": True}, **options)

        assert len(result.quarantined) == 10

    def test_the_dashboard_of_a_cluster_is_logged(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RAY_OVERRIDE_DASHBOARD_URL", "http://there:8265")

        with caplog.at_level("INFO", logger="curator_core"):
            result = ran(Same(), config={"dashboard": True})

        assert result.sources_done == 10
        assert any("dashboard is at http://there:8265" in r.getMessage() for r in caplog.records)

    def test_progress_is_logged_every_interval(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO", logger="curator_core"):
            ran(Pid(), data=range(150), config={"logging_interval": 0.3})

        lines = [r.getMessage() for r in caplog.records if "streaming: pid:" in r.getMessage()]
        assert any(" done, " in line and "workers" in line for line in lines)
        assert lines[-1].startswith("streaming: pid: 150 tasks, ")
        assert "on shared workers" in lines[-1]

    def test_the_bottleneck_is_in_the_result(self, tmp_path: Path) -> None:
        pipeline = Pipeline("p", stages=[Pid()])
        tasks = [Task(n) for n in range(150)]

        result = pipeline.run(StreamingExecutor(), tasks=tasks, run_dir=str(tmp_path))

        assert result.notes[0].startswith("the bottleneck was pid: ")
        events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        [summary] = [event for event in events if event["event"] == "workers_summed_up"]
        assert (summary["bottleneck"], summary["steps"][0]["tasks"]) == ("pid", 150)
        scaled = [event["reason"] for event in events if event["event"] == "scheduling"]
        assert scaled[0].startswith("1 shared worker started")

    def test_recycling_loses_nothing(self, tmp_path: Path) -> None:
        stage = UntilProcesses(str(tmp_path), 3)

        result = ran(stage, data=range(2000), config={"worker_max_tasks": 20})

        assert (len(result), result.sources_done) == (2000, 2000)
        assert len(list(tmp_path.iterdir())) > 2


class TestWorkers:
    def test_a_runtime_env_of_one_stage(self) -> None:
        own = ReadsVariable().with_(
            name="own", runtime_env={"env_vars": {"CURATOR_TEST_MARK": "there"}}
        )

        result = ran(own, data=["CURATOR_TEST_MARK"])

        assert [task.data for task in result] == ["there"]

    def test_a_fixed_number_of_workers(self) -> None:
        result = ran(Same(), Pid().with_(num_workers=1), data=range(20))

        assert len({task.data for task in result}) == 1

    def test_unfused_stages_exchange_tasks_through_the_store(self) -> None:
        apart = Same().with_(name="apart", hints={"streaming": {"fuse": False}})

        result = ran(Same(), apart, Same().with_(name="last"), data=range(300))

        assert sorted(task.data for task in result) == list(range(300))


class TestData:
    def test_more_data_than_the_store_holds(self) -> None:
        result = ran(
            Inflates(), Measures(), data=range(20), config={"max_queued_bytes": 60_000_000}
        )

        assert [task.data for task in result] == [1_000_000] * 600
        assert result.sources_done == 20

    def test_a_pipeline_of_one_listing_stage(self) -> None:
        from curator_core.testing.contract.stages import Lists

        result = Pipeline("p", stages=[Lists(3)]).run(StreamingExecutor())

        assert sorted(task.data for task in result) == [0, 1, 2]


class TestSlowConsumers:
    def test_deaths_are_noticed_while_no_outputs_are_consumed(self) -> None:
        pipeline = Pipeline("p", stages=[Pid()])

        with pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(300)]) as stream:
            os.kill(next(stream).data, signal.SIGKILL)
            assert eventually(lambda: len(stream.result.worker_restarts) == 1)
            outputs = list(stream)

        assert len(outputs) == 299
        assert stream.result.sources_done == 300

    def test_sources_are_done_only_when_their_outputs_are_consumed(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        pipeline = Pipeline("p", stages=[Logs(str(log))])

        with pipeline.stream(StreamingExecutor(), tasks=[Task(n) for n in range(300)]) as stream:
            next(stream)
            assert eventually(lambda: len(log.read_text().splitlines()) == 300)
            assert stream.result.sources_done == 0
            assert len(list(stream)) == 299

        assert stream.result.sources_done == 300
