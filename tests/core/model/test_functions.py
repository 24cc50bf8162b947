"""Stages made of plain functions."""

import cloudpickle
import pytest
from curator_core import DocumentBatch, FileGroup, Resources, Task, processing_stage
from curator_core.model.functions import FunctionStage
from curator_core.testing import check_stage, run_stage


@processing_stage(name="first_rows", resources=Resources(cpus=2), batch_size=4)
def first_rows(task: DocumentBatch) -> DocumentBatch | None:
    """Keep the first row."""
    return task.with_data(task.data.slice(0, 1)) if task.num_items else None


def rows(count: int) -> DocumentBatch:
    return DocumentBatch.from_pylist([{"n": n} for n in range(count)])


class TestFunctionStages:
    def test_run_the_function(self) -> None:
        [output] = run_stage(first_rows, rows(3))

        assert output.data.to_pylist() == [{"n": 0}]

    def test_can_still_be_called(self) -> None:
        assert isinstance(first_rows, FunctionStage)
        assert first_rows(rows(0)) is None

    def test_carry_name_doc_and_settings(self) -> None:
        assert first_rows.name == "first_rows"
        assert first_rows.__doc__ == "Keep the first row."
        assert (first_rows.resources.cpus, first_rows.batch_size) == (2, 4)

    def test_read_their_types_from_the_hints(self) -> None:
        @processing_stage(name="read")
        def read(task: FileGroup) -> DocumentBatch:
            return rows(task.num_items)

        @processing_stage(name="untyped")
        def untyped(task):  # type: ignore[no-untyped-def]
            return task

        assert (read.input_type, read.output_type) == (FileGroup, DocumentBatch)
        assert (untyped.input_type, untyped.output_type) == (Task, Task)

    def test_tolerate_names_imported_only_for_type_checkers(self) -> None:
        @processing_stage(name="typed_elsewhere")
        def typed_elsewhere(task: "Nowhere") -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821
            return task

        assert typed_elsewhere.input_type is Task

    def test_can_be_pickled_although_their_name_now_means_the_stage(self) -> None:
        again = cloudpickle.loads(cloudpickle.dumps(first_rows))

        assert run_stage(again, rows(3))[0].num_items == 1

    def test_can_be_pickled_when_defined_inside_a_function(self) -> None:
        added = 10

        @processing_stage(name="add")
        def add(task: Task[int]) -> Task[int]:
            return task.with_data(task.data + added)

        check_stage(add, Task(1), Task(2))

    @pytest.mark.parametrize("count", [0, 2])
    def test_take_exactly_one_task(self, count: int) -> None:
        functions = {0: lambda: None, 2: lambda task, other: None}

        with pytest.raises(
            TypeError, match=rf"@processing_stage\(name='odd'\).* takes {count} arguments"
        ):
            processing_stage(name="odd")(functions[count])


class TestNames:
    def test_follow_from_the_function_unless_given(self) -> None:
        @processing_stage
        def plain(task: Task[int]) -> Task[int]:
            return task

        @processing_stage(batch_size=3)
        def with_settings(task: Task[int]) -> Task[int]:
            return task

        assert (plain.name, plain.input_type) == ("plain", Task)
        assert (with_settings.name, with_settings.batch_size) == ("with_settings", 3)

    def test_a_lambda_has_none(self) -> None:
        with pytest.raises(TypeError, match=r"has no name: give it one with processing_stage\("):
            processing_stage(lambda task: task)

    def test_a_name_alone_is_not_a_function(self) -> None:
        with pytest.raises(TypeError, match=r"^write @processing_stage\(name='long_pages'\)$"):
            processing_stage("long_pages")  # type: ignore[call-overload]
