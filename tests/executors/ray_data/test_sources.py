"""Into how many blocks sources are cut, and how many a job takes."""

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
from curator_ray_data.sources import Sources, cut


def blocks(tasks: list[Any], *, singly: bool = False, **options: Any) -> list[int]:
    cut_up = cut(tasks, RayDataOptions(**options), PlanPacker(send_modules=False), singly=singly)
    return [block.num_rows for block in cut_up]


def tasks(count: int) -> list[Task[int]]:
    return [Task(number) for number in range(count)]


class TestBlocks:
    def test_tasks_come_in_as_many_as_ray_data_would_make(self) -> None:
        assert blocks(tasks(600)) == [3] * 200
        assert blocks(tasks(6)) == [1] * 6

    def test_files_come_one_by_one(self) -> None:
        files = [FileGroup.of([f"{number}.jsonl"]) for number in range(600)]

        assert blocks(files) == [1] * 600

    def test_as_many_as_told(self) -> None:
        assert blocks(tasks(10), override_num_blocks=3) == [4, 4, 2]

    def test_suspects_are_alone(self) -> None:
        assert blocks(tasks(3), singly=True, override_num_blocks=1) == [1, 1, 1]

    def test_what_cannot_travel_is_told_with_a_way_out(self) -> None:
        with pytest.raises(PipelineError, match=r"cannot be pickled.*LocalExecutor\(workers=0\)"):
            blocks([Task(threading.Lock())])


class TestJobs:
    def run_of(self, count: int, **options: Any) -> Sources:
        given = tasks(count)
        plan = Pipeline("p", stages=[Adds(1)]).build(tasks=given)
        run = ActiveRun(plan, TaskListing(given), NoStore())
        return Sources(run, RayDataOptions(**options))

    def test_take_so_many_sources_and_no_more(self) -> None:
        sources = self.run_of(5, max_sources_per_job=2)

        assert [len(sources.take()) for _ in range(4)] == [2, 2, 1, 0]

    def test_take_so_many_bytes_and_no_more(self) -> None:
        sources = self.run_of(5)
        sources.most_bytes = 40

        assert [len(sources.take()) for _ in range(3)] == [2, 2, 1]
