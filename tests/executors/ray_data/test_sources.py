"""How many sources a job takes, and how many blocks they make."""

import threading
from typing import Any

import pytest
from curator_core import FileGroup, Pipeline, PipelineError, Task
from curator_core.run.run import ActiveRun
from curator_core.run.sources import TaskListing
from curator_core.run.store import NoStore
from curator_core.testing.contract.stages import Adds

pytest.importorskip("ray.data")

from curator_ray.transfer.modules import PlanPacker
from curator_ray_data.options import RayDataOptions
from curator_ray_data.sources import JobSources, pack_blocks


def block_sizes(tasks: list[Any], *, singly: bool = False, **options: Any) -> list[int]:
    blocks = pack_blocks(
        tasks, RayDataOptions(**options), PlanPacker(send_modules=False), singly=singly
    )
    return [block.num_rows for block in blocks]


def tasks(count: int) -> list[Task[int]]:
    return [Task(number) for number in range(count)]


class TestBlocks:
    def test_tasks_make_up_to_200(self) -> None:
        assert block_sizes(tasks(600)) == [3] * 200
        assert block_sizes(tasks(6)) == [1] * 6

    def test_each_file_makes_one(self) -> None:
        files = [FileGroup.of([f"{number}.jsonl"]) for number in range(600)]

        assert block_sizes(files) == [1] * 600

    def test_the_option_sets_their_number(self) -> None:
        assert block_sizes(tasks(10), override_num_blocks=3) == [4, 4, 2]

    def test_suspects_are_alone(self) -> None:
        assert block_sizes(tasks(3), singly=True, override_num_blocks=1) == [1, 1, 1]

    def test_tasks_that_cannot_be_pickled_are_refused(self) -> None:
        with pytest.raises(PipelineError, match=r"cannot be pickled.*LocalExecutor\(workers=0\)"):
            block_sizes([Task(threading.Lock())])


class TestJobs:
    def sources_of(self, count: int, **options: Any) -> JobSources:
        given = tasks(count)
        plan = Pipeline("p", stages=[Adds(1)]).build(tasks=given)
        run = ActiveRun(plan, TaskListing(given), NoStore())
        return JobSources(run, RayDataOptions(**options))

    def test_are_limited_by_sources(self) -> None:
        sources = self.sources_of(5, max_sources_per_job=2)

        assert [len(sources.take()) for _ in range(4)] == [2, 2, 1, 0]

    def test_are_limited_by_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("curator_ray_data.sources._MIN_JOB_BYTES", 40)
        sources = self.sources_of(5)

        assert [len(sources.take()) for _ in range(3)] == [2, 2, 1]
