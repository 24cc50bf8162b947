"""What only the Ray Data executor does: jobs, blocks, pools and refusals, on a private Ray."""

import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core import Dropped, Pipeline, PipelineError, ProcessingStage, Resources, Task
from curator_core.errors import ResourceError
from curator_core.testing.contract.logs import lives, read_log
from curator_core.testing.contract.stages import Adds, FansOut, Lives, Writes
from curator_ray_data.executor import RayDataExecutor
from waitkit import eventually

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Splits(FansOut):
    fans_out = True


class DropsMost(Numbers):
    """Drops everything of odd sources, and every other output of the rest."""

    def process(self, task: Task[Any]) -> Any:
        source, position = divmod(task.data, 100)
        return Dropped("odd") if source % 2 or position % 2 else task


class ReadsDevices(Numbers):
    """Adds the GPUs that its process sees."""

    def process(self, task: Task[Any]) -> Task[Any]:
        seen = task.data if isinstance(task.data, tuple) else ()
        return task.with_data((*seen, os.environ.get("CUDA_VISIBLE_DEVICES")))


class ReadsEnvironment(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data((*task.data, os.environ.get("CURATOR_TEST_OWN")))


@dataclass
class WaitsForWorkers(Lives):
    """Finishes no task before this many workers are set up."""

    workers: int = 2

    def process(self, task: Task[int]) -> Task[int]:
        assert eventually(lambda: lives(read_log(self.log), "setup").total() >= self.workers)
        return super().process(task)


@dataclass
class Hangs(Numbers):
    """Passes tasks on until the gate exists, then hangs."""

    gate: str

    def process(self, task: Task[Any]) -> Task[Any]:
        if os.path.exists(self.gate):
            Path(f"{self.gate}.seen").touch()
            time.sleep(300)
        return task


class MakesFourMegabytes(Numbers):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(4 << 20))


def tasks(count: int) -> list[Task[Any]]:
    return [Task(number) for number in range(count)]


def run(*stages: Any, count: int = 12, **config: Any) -> Any:
    pipeline = Pipeline("p", stages=list(stages), max_failures=None)
    return pipeline.run(RayDataExecutor(config=config), tasks=tasks(count))


def test_every_source_is_finished_though_most_outputs_are_dropped(tmp_path: Path) -> None:
    stages = [Splits(4), DropsMost(), Splits(2).with_(name="again"), Writes(str(tmp_path / "out"))]

    result = run(*stages)

    assert (result.sources_done, result.stages["drops_most"].items_dropped) == (12, 36)
    assert result.stages["again"].tasks_in == 12
    assert len(list((tmp_path / "out").glob("part-*"))) == 24


@pytest.mark.soak
def test_many_sources_run_as_several_jobs() -> None:
    result = run(Adds(1), count=10, max_sources_per_job=4)

    assert sorted(task.data for task in result) == list(range(1, 11))
    assert result.sources_done == 10


def test_order_is_kept_on_request() -> None:
    result = run(Adds(0), count=40, preserve_order=True, override_num_blocks=10)

    assert [task.data for task in result] == list(range(40))


@pytest.mark.soak
def test_a_pool_has_the_given_number_of_workers(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    quarter = Resources(cpus=0.25)

    run(WaitsForWorkers(log).with_(num_workers=2, resources=quarter))

    assert lives(read_log(log), "setup").total() == 2


def test_gpus_are_visible_only_to_stages_that_asked_for_them() -> None:
    half = ReadsDevices().with_(name="half", resources=Resources(gpus=0.5, cpus=0.25))

    result = run(half, ReadsDevices(), count=4)

    assert {task.data for task in result} == {("0", "")}


def test_a_runtime_env_is_seen_by_no_other_stage() -> None:
    own = ReadsEnvironment().with_(
        name="own", runtime_env={"env_vars": {"CURATOR_TEST_OWN": "yes"}}
    )
    pipeline = Pipeline("p", stages=[own, ReadsEnvironment()])

    result = pipeline.run(RayDataExecutor(), tasks=[Task(())])

    assert [task.data for task in result] == [("yes", None)]


def test_outputs_may_be_larger_than_the_object_store() -> None:
    """320 MB with a store of 300: a slow reader holds the job up."""
    pipeline = Pipeline("p", stages=[MakesFourMegabytes()])

    with pipeline.stream(RayDataExecutor(), tasks=tasks(80)) as stream:
        sizes = [len(task.data) for task in stream]

    assert sizes == [4 << 20] * 80


def test_a_stage_that_hangs_when_the_stream_is_closed_is_killed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread stays behind either: one that uses Ray after its end would kill this process."""
    monkeypatch.setattr("curator_ray_data.driver._ABORTED_TEARDOWN_S", 5.0)
    log, gate = str(tmp_path / "log"), tmp_path / "gate"
    half = Resources(cpus=0.5)
    both = Lives(log), Hangs(str(gate))
    pipeline = Pipeline("p", stages=[s.with_(num_workers=1, resources=half) for s in both])

    with pipeline.stream(RayDataExecutor(), tasks=tasks(400)) as stream:
        next(stream)
        gate.touch()
        assert eventually(Path(f"{gate}.seen").exists)

    events = read_log(log)
    assert lives(events, "setup").total() == 1
    assert lives(events, "teardown") == lives(events, "setup")
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith(("curator-ray-data", "StreamingExec"))]


class TestRefusals:
    def test_gpus_that_the_stages_exceed_together(self) -> None:
        whole = ReadsDevices().with_(resources=Resources(gpus=1, cpus=0.25))

        with pytest.raises(ResourceError, match=r"ask for 2 GPU together, but there are 1: .*use "):
            run(whole, whole.with_(name="other"))

    def test_an_unknown_hint(self) -> None:
        with pytest.raises(PipelineError, match="no ray_data hint 'concurency'"):
            run(Adds(1).with_(hints={"ray_data": {"concurency": 2}}))

    def test_an_unknown_field_of_the_context(self) -> None:
        with pytest.raises(PipelineError, match="no field 'read_op_min_num_block'"):
            run(Adds(1), context={"read_op_min_num_block": 1})


def test_a_run_without_problems_prints_nothing(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RayDataExecutor, "_has_warned", True)
    with caplog.at_level(logging.INFO, "curator_core"):
        run(Adds(1))

    messages = [r.getMessage() for r in caplog.records if r.name == "curator_core"]
    assert not [line for line in messages if "Ray Data" in line]
    assert capfd.readouterr() == ("", "")


def test_what_ray_data_decides_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RayDataExecutor, "_has_warned", False)
    monkeypatch.setattr(RayDataExecutor, "drive", lambda *_: iter(()))
    plan = Pipeline("p", stages=[Adds(1)]).build(tasks=tasks(1))
    run_with_work: Any = SimpleNamespace(worker_stages=plan.stages, has_work=True)

    for _ in range(2):
        assert list(RayDataExecutor().execute(plan, run_with_work)) == []

    assert [r.levelname for r in caplog.records] == ["WARNING"]


def test_a_private_cluster_reports_no_usage() -> None:
    import ray

    assert len(run(Adds(1), count=2)) == 2
    assert "RAY_DATA_USAGE_DISABLED" not in os.environ
    with pytest.raises(ValueError, match="Failed to look up actor"):
        ray.get_actor("DataUsageCollectionActor", namespace="DataUsageCollectionActor")
