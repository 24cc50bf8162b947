"""Pool sizes, the blocks of a job, and how a job ends, also on unknown versions of Ray."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("ray.data")

from curator_core import Pipeline, Resources, Task
from curator_core.errors import StageError
from curator_core.testing.contract.stages import Lives
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray.compat import PrivateName
from curator_ray.compat import is_tested as is_tested_version
from curator_ray_data.compat import CREATE_EXECUTOR
from curator_ray_data.context import BlockErrors
from curator_ray_data.job import Job, pool_size
from curator_ray_data.plan import operators_of, shares_of


class FakeExecutor:
    """Ray Data's executor of a dataset."""

    was_shut_down = False

    def __init__(self, blocks: int = 1) -> None:
        self.blocks = ["a block"] * blocks

    def shutdown(self, *, force: bool) -> None:
        self.was_shut_down = not force


class FakeDataset:
    """The parts of a Ray Data dataset that a job uses."""

    def __init__(self, executor: FakeExecutor) -> None:
        self.executor = executor

    def iter_batches(self, **_: Any) -> Iterator[str]:
        return iter(self._create_executor().blocks)

    def _create_executor(self) -> FakeExecutor:
        return self.executor


class FailingDataset(FakeDataset):
    """Raises as Ray Data does."""

    def iter_batches(self, **_: Any) -> Iterator[str]:
        from ray.data.exceptions import SystemException

        raise ValueError("Invalid scheduling strategy") from SystemException()


class TestPoolSize:
    def size(self, blocks: int, *, can_grow: bool, **changes: Any) -> dict[str, int | None]:
        stage = Lives("log").with_(**changes)
        cluster = ClusterFacts((NodeFacts("n", cpus=8, memory_gb=8, custom={"disk": 2}),))
        operators = operators_of(Pipeline("p", stages=[stage]).build(tasks=[Task(1)]).stages)
        [share] = shares_of(operators, cluster)
        return pool_size(operators[0], share, blocks, can_grow=can_grow)

    def test_is_full_from_the_start(self) -> None:
        sizes = {"min_size": 1, "initial_size": 8, "max_size": 8}
        assert self.size(100, can_grow=False) == sizes

    def test_is_no_larger_than_the_number_of_blocks(self) -> None:
        assert self.size(3, can_grow=False)["initial_size"] == 3

    def test_grows_with_the_cluster(self) -> None:
        sizes = {"min_size": 1, "initial_size": 8, "max_size": None}
        assert self.size(100, can_grow=True) == sizes

    def test_does_not_grow_beyond_a_given_number_or_custom_resources(self) -> None:
        assert self.size(100, can_grow=True, num_workers=2)["max_size"] == 2
        disk = Resources(custom={"disk": 1})
        assert self.size(100, can_grow=True, resources=disk)["max_size"] == 2


@pytest.fixture(params=["tested", "unknown"])
def is_tested(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the version of Ray is a tested one."""
    is_tested = request.param == "tested"
    create = FakeDataset._create_executor if is_tested else None
    monkeypatch.setattr(PrivateName, "get", lambda _: create)
    return is_tested


def job_of(dataset: FakeDataset) -> Job:
    return Job(dataset, BlockErrors())  # type: ignore[arg-type]


def blocks_of(job: Job) -> list[Any]:
    return [block for block in job.blocks() if block is not None]


@pytest.mark.usefixtures("is_tested")
def test_gives_all_blocks() -> None:
    job = job_of(FakeDataset(FakeExecutor(3)))
    assert blocks_of(job) == ["a block"] * 3
    assert job.close(5.0)


def test_can_be_closed_early(is_tested: bool) -> None:
    executor = FakeExecutor(9)
    job = job_of(FakeDataset(executor))
    next(block for block in job.blocks() if block is not None)

    assert job.close(5.0)
    assert executor.was_shut_down == is_tested


def test_can_be_closed_before_it_was_started() -> None:
    assert job_of(FakeDataset(FakeExecutor())).close(5.0)


def test_errors_inside_ray_data_are_explained() -> None:
    job = job_of(FailingDataset(FakeExecutor()))
    with pytest.raises(StageError, match="ValueError: Invalid scheduling strategy"):
        blocks_of(job)


def test_the_private_name_is_that_of_the_installed_ray() -> None:
    if not is_tested_version():
        pytest.skip("not a tested version of Ray")
    assert CREATE_EXECUTOR.get() is not None
