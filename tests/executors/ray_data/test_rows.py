"""Tasks come out of rows as they went in, and tables are not copied."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Task

pytest.importorskip("ray.data")

from curator_ray.worker.messages import CallResult
from curator_ray_data.rows import (
    ResultRow,
    pack_result,
    pack_tasks,
    select_results,
    unpack_results,
    unpack_tasks,
)
from hypothesis import given
from hypothesis import strategies as st


def round_trip(tasks: list[Any]) -> list[Any]:
    return list(unpack_tasks(pack_tasks(tasks)))


@given(st.lists(st.one_of(st.integers(), st.text(), st.binary(max_size=300)), max_size=5))
def test_any_data(values: list[Any]) -> None:
    tasks = [Task(value, "web", {"n": 1}) for value in values]

    assert round_trip(tasks) == tasks


def test_ids_and_lineage_are_kept() -> None:
    task = Task(1)
    task.task_id, task.lineage = "a.0", {("a", 1): 1}  # type: ignore[dict-item]

    [received] = round_trip([task])

    assert (received.task_id, received.lineage) == ("a.0", {("a", 1): 1})


def test_tables_are_mapped_and_not_copied() -> None:
    rows = pack_tasks([DocumentBatch(pa.table({"text": ["a" * 10_000]}))])
    first = rows.column("task").chunk(0).buffers()[2]

    [batch] = list(unpack_tasks(rows))

    inside = batch.data["text"].chunk(0).buffers()[2].address
    assert first.address <= inside < first.address + first.size
    assert inside % 64 == first.address % 64


def test_arrays_may_be_written_into() -> None:
    numpy = pytest.importorskip("numpy")
    rows = pack_tasks([Task(numpy.zeros(5))])

    for _ in range(2):
        [task] = list(unpack_tasks(rows))
        assert task.data.tolist() == [0.0] * 5
        task.data += 1


def test_results_are_kept_beside_the_tasks() -> None:
    result = ResultRow("w", (("a", 1),), CallResult())
    rows = pa.concat_tables([pack_tasks([Task(1), Task(2)]), pack_result(result), pack_tasks([])])

    assert [task.data for task in unpack_tasks(rows)] == [1, 2]
    assert unpack_results(rows) == unpack_results(select_results(rows)) == [result]
    assert list(unpack_tasks(rows.slice(1, 2))) == [Task(2)]
