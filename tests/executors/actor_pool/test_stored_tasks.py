"""Waiting tasks are neither lost nor doubled, and keep their order."""

from collections.abc import Sequence

from curator_actor_pool.stored_tasks import StoredRange, StoredTasks, TaskQueue, source_keys
from hypothesis import given
from hypothesis import strategies as st


def stored(first: int, count: int, node: str = "") -> StoredRange:
    ids = [str(n) for n in range(first, first + count)]
    return StoredRange.of(StoredTasks(None, ids, [((task, 1),) for task in ids], 10 * count, node))


def stored_in_packs(sizes: Sequence[int]) -> list[StoredRange]:
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return [stored(start, size) for start, size in zip(starts, sizes, strict=True)]


def ids(taken: Sequence[StoredRange]) -> list[int]:
    return [int(task) for one in taken for task in one.ids]


@given(
    sizes=st.lists(st.integers(1, 9), max_size=8),
    steps=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=30),
)
def test_every_task_is_taken_once_and_in_order(
    sizes: list[int], steps: list[tuple[int, bool]]
) -> None:
    queue = TaskQueue(stored_in_packs(sizes))
    kept: list[int] = []
    for count, goes_back in steps:
        taken = queue.take(count)
        assert sum(map(len, taken)) <= count
        if goes_back:
            queue.put_back(taken)
        else:
            kept += ids(taken)
    kept += ids(queue.take(1000))

    assert kept == list(range(sum(sizes)))
    assert (queue.tasks, round(queue.nbytes, 6)) == (0, 0)


def test_suspects_come_first_and_alone() -> None:
    queue = TaskQueue([stored(0, 3)])
    [suspect] = stored(7, 1).singles()
    queue.put_back([StoredRange(suspect.stored, 0, 1, is_suspect=True)])

    assert queue.tasks == 4
    assert [ids(queue.take(10)), ids(queue.take(10))] == [[7], [0, 1, 2]]


def test_tasks_on_the_workers_node_are_preferred() -> None:
    queue = TaskQueue([stored(0, 2, "a"), stored(2, 2, "b"), stored(4, 2, "a")])

    assert [ids(queue.take(2, "b")), ids(queue.take(2, "c")), ids(queue.take(2))] == [
        [2, 3],
        [0, 1],
        [4, 5],
    ]


def test_each_source_is_listed_once() -> None:
    pack = StoredTasks(None, ["a", "b"], [(("s", 1), ("t", 1)), (("s", 1),)], 8)

    assert source_keys([StoredRange.of(pack), StoredRange.of(pack)]) == (("s", 1), ("t", 1))
