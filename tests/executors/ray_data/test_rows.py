"""Tasks come out of rows as they went in, and are not copied where that can be helped."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Task

pytest.importorskip("ray.data")

from curator_ray.worker.messages import CallResult
from curator_ray_data.rows import Told, row_of, rows_of_tasks, tasks_in, told_in, told_rows
from hypothesis import given
from hypothesis import strategies as st


def there_and_back(tasks: list[Any]) -> list[Any]:
    return list(tasks_in(rows_of_tasks(tasks)))


@given(st.lists(st.one_of(st.integers(), st.text(), st.binary(max_size=300)), max_size=5))
def test_any_data(values: list[Any]) -> None:
    tasks = [Task(value, "web", {"n": 1}) for value in values]

    assert there_and_back(tasks) == tasks


def test_ids_and_lineage_travel_along() -> None:
    task = Task(1)
    task.task_id, task.lineage = "a.0", {("a", 1): 1}  # type: ignore[dict-item]

    [came] = there_and_back([task])

    assert (came.task_id, came.lineage) == ("a.0", {("a", 1): 1})


def test_tables_are_mapped_and_not_copied() -> None:
    rows = rows_of_tasks([DocumentBatch(pa.table({"text": ["a" * 10_000]}))])
    first = rows.column("task").chunk(0).buffers()[2]

    [batch] = list(tasks_in(rows))

    inside = batch.data["text"].chunk(0).buffers()[2].address
    assert first.address <= inside < first.address + first.size
    assert inside % 64 == first.address % 64


def test_arrays_may_be_written_into() -> None:
    numpy = pytest.importorskip("numpy")
    rows = rows_of_tasks([Task(numpy.zeros(5))])

    for _ in range(2):
        [task] = list(tasks_in(rows))
        assert task.data.tolist() == [0.0] * 5
        task.data += 1


def test_what_is_told_stands_beside_the_tasks() -> None:
    told = Told("w", (("a", 1),), CallResult())
    rows = pa.concat_tables([rows_of_tasks([Task(1), Task(2)]), row_of(told), rows_of_tasks([])])

    assert [task.data for task in tasks_in(rows)] == [1, 2]
    assert told_in(rows) == told_in(told_rows(rows)) == [told]
    assert list(tasks_in(rows.slice(1, 2))) == [Task(2)]
