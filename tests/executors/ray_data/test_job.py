"""The blocks of a job, and how a job ends, also with a Ray Data that differs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("ray.data")

from curator_core import Pipeline, Resources, Task
from curator_core.errors import StageError
from curator_core.testing.contract.stages import Lives
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
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


class Dataset:
    """The parts of a Ray Data dataset that a job uses."""

    def __init__(self, executor: FakeExecutor) -> None:
        self._executor = executor
        self._create_executor: Callable[[], FakeExecutor]

    def iter_batches(self, **_: Any) -> Iterator[str]:
        return iter(self._create_executor().blocks)


class KnownDataset(Dataset):
    def _create_executor(self) -> FakeExecutor:  # type: ignore[override]
        return self._executor


class UnknownDataset(Dataset):
    """That of a version without the private name."""

    def iter_batches(self, **_: Any) -> Iterator[str]:
        return iter(self._executor.blocks)


class FailingDataset(KnownDataset):
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


def job_of(dataset: Dataset) -> Job:
    return Job(dataset, BlockErrors())  # type: ignore[arg-type]


def blocks_of(job: Job) -> list[Any]:
    return [block for block in job.blocks() if block is not None]


@pytest.mark.parametrize("kind", [KnownDataset, UnknownDataset])
def test_gives_all_blocks(kind: type[Dataset]) -> None:
    job = job_of(kind(FakeExecutor(3)))
    assert blocks_of(job) == ["a block"] * 3
    assert job.close(5.0)


@pytest.mark.parametrize("kind", [KnownDataset, UnknownDataset])
def test_can_be_closed_early(kind: type[Dataset]) -> None:
    executor = FakeExecutor(9)
    job = job_of(kind(executor))
    next(block for block in job.blocks() if block is not None)

    assert job.close(5.0)
    assert executor.was_shut_down == (kind is KnownDataset)


def test_can_be_closed_before_it_was_started() -> None:
    assert job_of(KnownDataset(FakeExecutor())).close(5.0)


def test_errors_inside_ray_data_are_explained() -> None:
    job = job_of(FailingDataset(FakeExecutor()))
    with pytest.raises(StageError, match="ValueError: Invalid scheduling strategy"):
        blocks_of(job)
