"""Stages that the plan replaces, to save later stages work."""

from collections.abc import Sequence
from copy import copy

from curator_core import AnyStage, LocalExecutor, Pipeline, ProcessingStage, Task


class Square(ProcessingStage[Task[int], Task[int]]):
    """Computes the square too if a later stage needs it."""

    _wanted = False

    def fuse_with(self, near: Sequence[AnyStage], later: Sequence[AnyStage]) -> AnyStage:
        aware = copy(self)
        wanted = any(isinstance(stage, AddSquare) for stage in [*near, *later])
        object.__setattr__(aware, "_wanted", wanted)
        return aware

    def process(self, task: Task[int]) -> Task[int]:
        if self._wanted:
            task = task.with_data(task.data)
            task.derived["square"] = task.data**2
        return task


class LeavesWords(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        task = task.with_data(task.data)
        task.derived["words"] = ["a", "word"]
        return task


class Same(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


class AddSquare(ProcessingStage[Task[int], Task[list[object]]]):
    def process(self, task: Task[int]) -> Task[list[object]]:
        return Task([task.data, task.derived.get("square")])


def outputs(*stages: AnyStage, fuse: bool = True) -> list[object]:
    result = Pipeline("squares", stages=stages, fuse=fuse).run(LocalExecutor(0), tasks=[Task(3)])
    return [task.data for task in result]


def test_a_stage_can_prepare_what_a_later_stage_needs() -> None:
    assert outputs(Square(), Same(), AddSquare()) == [[3, 9]]
    assert outputs(Square(), Same(), AddSquare(), fuse=False) == [[3, None]]


def test_prepared_values_do_not_pass_a_stage_that_makes_other_data() -> None:
    class Increment(ProcessingStage[Task[int], Task[int]]):
        def process(self, task: Task[int]) -> Task[int]:
            return task.with_data(task.data + 1)

    assert outputs(Square(), Increment(), AddSquare()) == [[4, None]]


def test_the_stages_of_the_pipeline_do_not_change() -> None:
    square = Square()
    outputs(square, AddSquare())
    assert vars(square) == {}


def test_outputs_do_not_keep_derived_values() -> None:
    """A result may hold many tasks for a long time."""
    for stages in ([LeavesWords()], [LeavesWords(), Same()]):
        [task] = Pipeline("ends", stages=stages).run(LocalExecutor(0), tasks=[Task(3)])
        assert (task.data, task.derived) == (3, {})


def test_quarantined_tasks_do_not_keep_derived_values() -> None:
    class Breaks(ProcessingStage[Task[int], Task[int]]):
        def process(self, task: Task[int]) -> Task[int]:
            assert task.derived
            raise ValueError("no")

    stages = [LeavesWords(), Breaks()]
    result = Pipeline("p", stages=stages, max_failures=None).run(LocalExecutor(0), tasks=[Task(3)])
    [record] = result.quarantined
    assert record.payload is not None
    assert b"word" not in record.payload
    assert Task.from_payload(record.payload).derived == {}
