"""What only the Ray Data executor does: its jobs, blocks, pools and refusals, on a private Ray."""

import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from curator_core import Dropped, Pipeline, PipelineError, ProcessingStage, Resources, Task
from curator_core.errors import ResourceError
from curator_core.testing.contract.jobs import wait_until
from curator_core.testing.contract.logs import lives, read_log
from curator_core.testing.contract.stages import Adds, FansOut, Lives, Writes
from curator_ray_data.executor import RayDataExecutor

pytestmark = pytest.mark.usefixtures("private_ray")

Numbers = ProcessingStage[Task[Any], Task[Any]]


class Splits(FansOut):
    fans_out = True


class DropsMost(Numbers):
    """Leaves nothing of odd sources, and every other output of the rest."""

    def process(self, task: Task[Any]) -> Any:
        source, position = divmod(task.data, 100)
        return Dropped("odd") if source % 2 or position % 2 else task


class Tells(Numbers):
    """What its process sees of devices."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data((os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES")))


class Reads(Numbers):
    """Adds what a variable of its environment says."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data((*task.data, os.environ.get("CURATOR_TEST_OWN")))


@dataclass
class Meets(Lives):
    """No task ends before as many workers are there as there should be."""

    fellows: int = 2

    def process(self, task: Task[int]) -> Task[int]:
        latest = time.monotonic() + 60
        while lives(read_log(self.log), "setup").total() < self.fellows:
            assert time.monotonic() < latest, "the others never came"
            time.sleep(0.02)
        return super().process(task)


class Lingers(Lives):
    def process(self, task: Task[int]) -> Task[int]:
        time.sleep(0.1)
        return super().process(task)


@dataclass
class Hangs(Numbers):
    """Lets all pass, until it is told to be heard of no more."""

    gate: str

    def process(self, task: Task[Any]) -> Task[Any]:
        if os.path.exists(self.gate):
            Path(f"{self.gate}.seen").touch()
            time.sleep(300)
        return task


class Swells(Numbers):
    """Makes four megabytes of nothing."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(4 << 20))


def tasks(count: int) -> list[Task[Any]]:
    return [Task(number) for number in range(count)]


def ran(*stages: Numbers, count: int = 12, **config: Any) -> Any:
    pipeline = Pipeline("p", stages=list(stages), max_failures=None)
    return pipeline.run(RayDataExecutor(config=config), tasks=tasks(count))


def test_every_source_has_its_account_though_most_of_it_was_dropped(tmp_path: Path) -> None:
    stages = [Splits(4), DropsMost(), Splits(2).with_(name="again"), Writes(str(tmp_path / "out"))]

    result = ran(*stages)  # type: ignore[arg-type]

    assert (result.sources_done, result.stages["drops_most"].items_dropped) == (12, 36)
    assert result.stages["again"].tasks_in == 12
    assert len(list((tmp_path / "out").glob("part-*"))) == 24


def test_more_sources_than_a_job_takes_are_several_jobs() -> None:
    result = ran(Adds(1), count=10, max_sources_per_job=4)

    assert sorted(task.data for task in result) == list(range(1, 11))
    assert result.sources_done == 10


def test_order_is_kept_where_it_is_asked_for() -> None:
    result = ran(Adds(0), count=40, preserve_order=True, override_num_blocks=10)

    assert [task.data for task in result] == list(range(40))


def test_a_number_of_workers_is_kept(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    meets = Meets(log).with_(num_workers=2, resources=Resources(cpus=0.25))

    ran(meets)

    assert lives(read_log(log), "setup").total() == 2


def test_devices_are_told_to_those_who_asked_and_to_nobody_else() -> None:
    half = Tells().with_(resources=Resources(gpus=0.5, cpus=0.25))

    with_device, without = ran(half, count=4), ran(Tells(), count=4)

    assert {task.data[1] for task in with_device} == {"0"}
    assert {task.data[1] for task in without} == {""}


def test_an_environment_of_its_own_is_seen_by_no_other() -> None:
    own = Reads().with_(name="own", runtime_env={"env_vars": {"CURATOR_TEST_OWN": "yes"}})
    pipeline = Pipeline("p", stages=[own, Reads()])

    result = pipeline.run(RayDataExecutor(), tasks=[Task(())])

    assert [task.data for task in result] == [("yes", None)]


def test_large_results_come_while_the_rest_is_held_back() -> None:
    """Two hundred megabytes, of which a store of 300 MB and the reader hold but a part."""
    swells = Pipeline("p", stages=[Swells()])

    with swells.stream(RayDataExecutor(), tasks=tasks(50)) as stream:
        sizes = [len(task.data) for task in stream]

    assert sizes == [4 << 20] * 50


def test_one_that_hangs_when_a_run_is_broken_off_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing stays behind: a thread that asks Ray for something when it is gone ends this
    process without a word."""
    monkeypatch.setattr("curator_ray_data.driving._LAST_PATIENCE_S", 5.0)
    log, gate = str(tmp_path / "log"), tmp_path / "gate"
    half = Resources(cpus=0.5)
    both = Lingers(log), Hangs(str(gate))
    pipeline = Pipeline("p", stages=[s.with_(num_workers=1, resources=half) for s in both])

    with pipeline.stream(RayDataExecutor(), tasks=tasks(400)) as stream:
        next(stream)
        gate.touch()
        wait_until(lambda: Path(f"{gate}.seen").exists())

    events = read_log(log)
    assert lives(events, "setup").total() == 1
    assert lives(events, "teardown") == lives(events, "setup")
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith(("curator-ray-data", "StreamingExec"))]


class TestRefusals:
    def test_devices_that_stages_would_hold_at_once(self) -> None:
        whole = Tells().with_(resources=Resources(gpus=1, cpus=0.25))

        with pytest.raises(ResourceError, match=r"ask for 2 GPU together, but there are 1: .*use "):
            ran(whole, whole.with_(name="other"))

    def test_a_wrong_hint(self) -> None:
        with pytest.raises(PipelineError, match="no ray_data hint 'concurency'"):
            ran(Adds(1).with_(hints={"ray_data": {"concurency": 2}}))

    def test_a_field_that_ray_datas_context_does_not_have(self) -> None:
        with pytest.raises(PipelineError, match="no field 'read_op_min_num_block'"):
            ran(Adds(1), context={"read_op_min_num_block": 1})


def test_nothing_is_said_about_a_run_that_goes_well(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    ran(Adds(1))
    caplog.clear()
    with caplog.at_level(logging.INFO, "curator_core"):
        ran(Adds(1))

    said = [r.getMessage() for r in caplog.records if r.name == "curator_core"]
    assert not [line for line in said if "Ray Data" in line]  # it was said once, and that is it
    assert capfd.readouterr() == ("", "")


def test_a_private_cluster_has_no_process_for_figures_that_nobody_is_sent() -> None:
    import ray

    assert len(ran(Adds(1), count=2)) == 2
    assert "RAY_DATA_USAGE_DISABLED" not in os.environ
    with pytest.raises(ValueError, match="Failed to look up actor"):
        ray.get_actor("DataUsageCollectionActor", namespace="DataUsageCollectionActor")
