"""Packed tasks come out of the object store unchanged, and Arrow data is not copied."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Task
from curator_ray.transfer.packing import PackedTasks


def through_the_store(tasks: list[Any]) -> PackedTasks:
    import ray

    packed: PackedTasks = ray.get(ray.put(PackedTasks.pack(tasks)))
    return packed


class Counted:
    """Counts how often it was unpacked."""

    unpacked = 0

    def __getstate__(self) -> int:
        return 1

    def __setstate__(self, state: object) -> None:
        Counted.unpacked += 1


class TestPackedTasks:
    def test_few_of_many_tasks_are_unpacked_alone(self, cluster: Any) -> None:
        packed = through_the_store([Task(Counted()) for _ in range(1000)])
        Counted.unpacked = 0
        assert len(packed.unpack(500, 510)) == 10
        assert Counted.unpacked < 150
        spans = ((0, 64), (63, 65), (990, None), (0, None), (64, 64))
        assert [len(packed.unpack(*span)) for span in spans] == [64, 2, 10, 1000, 0]

    def test_all_tasks_or_some_of_them(self, cluster: Any) -> None:
        packed = through_the_store([Task(number) for number in range(10)])
        assert len(packed) == 10
        assert [task.data for task in packed.unpack()] == list(range(10))
        assert [task.data for task in packed.unpack(2, 4)] == [2, 3]

    def test_ids_and_credit_are_kept(self, cluster: Any) -> None:
        task = Task("x")
        task.task_id, task.lineage = "a.0", {("a", 0): 1}  # type: ignore[dict-item]
        [same] = through_the_store([task]).unpack()
        assert (same.task_id, same.lineage) == ("a.0", {("a", 0): 1})

    def test_arrow_data_is_not_copied(self, cluster: Any) -> None:
        column = pa.array(["some text"] * 100_000)
        before = pa.total_allocated_bytes()
        packed = through_the_store([DocumentBatch(pa.table({"text": column}))])
        [batch] = packed.unpack()
        assert batch.data["text"].chunk(0).equals(column)
        assert pa.total_allocated_bytes() - before < 10_000
        assert packed.nbytes > 1_000_000

    def test_arrays_may_be_changed_in_place(self, cluster: Any) -> None:
        np = pytest.importorskip("numpy")
        packed = through_the_store([Task(np.zeros(50_000))])
        [first], [second] = packed.unpack(), packed.unpack()
        first.data[0] = 7
        assert second.data[0] == 0
