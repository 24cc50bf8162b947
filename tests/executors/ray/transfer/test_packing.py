"""Parcels: what is packed comes out as it was, and Arrow data is not copied."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Task
from curator_ray.transfer.packing import PackedTasks


def through_the_store(tasks: list[Any]) -> PackedTasks:
    import ray

    parcel: PackedTasks = ray.get(ray.put(PackedTasks.pack(tasks)))
    return parcel


class Counted:
    """Says how often it was unpacked."""

    opened = 0

    def __getstate__(self) -> int:
        return 1

    def __setstate__(self, state: object) -> None:
        Counted.opened += 1


class TestParcel:
    def test_who_wants_few_of_many_opens_few(self, cluster: Any) -> None:
        parcel = through_the_store([Task(Counted()) for _ in range(1000)])
        Counted.opened = 0
        assert len(parcel.unpack(500, 510)) == 10
        assert Counted.opened < 150
        spans = ((0, 64), (63, 65), (990, None), (0, None), (64, 64))
        assert [len(parcel.unpack(*span)) for span in spans] == [64, 2, 10, 1000, 0]

    def test_tasks_and_parts_of_them(self, cluster: Any) -> None:
        parcel = through_the_store([Task(number) for number in range(10)])
        assert len(parcel) == 10
        assert [task.data for task in parcel.unpack()] == list(range(10))
        assert [task.data for task in parcel.unpack(2, 4)] == [2, 3]

    def test_ids_and_credit_travel(self, cluster: Any) -> None:
        task = Task("x")
        task.task_id, task.lineage = "a.0", {("a", 0): 1}  # type: ignore[dict-item]
        [same] = through_the_store([task]).unpack()
        assert (same.task_id, same.lineage) == ("a.0", {("a", 0): 1})

    def test_arrow_data_is_mapped(self, cluster: Any) -> None:
        column = pa.array(["some text"] * 100_000)
        before = pa.total_allocated_bytes()
        parcel = through_the_store([DocumentBatch(pa.table({"text": column}))])
        [batch] = parcel.unpack()
        assert batch.data["text"].chunk(0).equals(column)
        assert pa.total_allocated_bytes() - before < 10_000
        assert parcel.nbytes > 1_000_000

    def test_arrays_may_be_changed_in_place(self, cluster: Any) -> None:
        np = pytest.importorskip("numpy")
        parcel = through_the_store([Task(np.zeros(50_000))])
        [first], [second] = parcel.unpack(), parcel.unpack()
        first.data[0] = 7
        assert second.data[0] == 0
