"""Stages that know what comes after them, and do their work for it in one go."""

from collections.abc import Sequence
from copy import copy
from typing import Self

from curator_core import AnyStage, LocalExecutor, Pipeline, ProcessingStage, Task


class Square(ProcessingStage[Task[int], Task[int]]):
    """Leaves the square beside the number where somebody behind it wants it."""

    _wanted = False

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        aware = copy(self)
        object.__setattr__(aware, "_wanted", any(isinstance(s, AddSquare) for s in stages))
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


def outputs(*stages: AnyStage) -> list[object]:
    result = Pipeline("squares", stages=stages).run(LocalExecutor(0), tasks=[Task(3)])
    return [task.data for task in result]


def test_what_was_worked_out_reaches_the_stage_that_wants_it() -> None:
    assert outputs(Square(), Same(), AddSquare()) == [[3, 9]]


def test_it_does_not_pass_a_stage_that_makes_other_data() -> None:
    class Increment(ProcessingStage[Task[int], Task[int]]):
        def process(self, task: Task[int]) -> Task[int]:
            return task.with_data(task.data + 1)

    assert outputs(Square(), Increment(), AddSquare()) == [[4, None]]


def test_the_pipeline_that_was_written_does_not_change() -> None:
    square = Square()
    outputs(square, AddSquare())
    assert vars(square) == {}


def test_it_is_not_kept_with_what_comes_out() -> None:
    """A result may hold a great many tasks, and for long."""
    for stages in ([LeavesWords()], [LeavesWords(), Same()]):
        [task] = Pipeline("ends", stages=stages).run(LocalExecutor(0), tasks=[Task(3)])
        assert (task.data, task.derived) == (3, {})


def test_it_is_not_kept_with_what_failed() -> None:
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
