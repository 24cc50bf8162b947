"""Tasks that wait: nothing is lost, nothing is doubled, the order is kept."""

from collections.abc import Sequence

from curator_actor_pool.lots import Line, Lot, Stored, keys_of
from hypothesis import given
from hypothesis import strategies as st


def lot(first: int, count: int, node: str = "") -> Lot:
    ids = [str(n) for n in range(first, first + count)]
    return Lot.of(Stored(None, ids, [((task, 1),) for task in ids], 10 * count, node))


def lots(sizes: Sequence[int]) -> list[Lot]:
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return [lot(start, size) for start, size in zip(starts, sizes, strict=True)]


def ids(taken: Sequence[Lot]) -> list[int]:
    return [int(task) for one in taken for task in one.ids]


@given(
    sizes=st.lists(st.integers(1, 9), max_size=8),
    steps=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=30),
)
def test_what_is_taken_and_put_back_comes_once_and_in_order(
    sizes: list[int], steps: list[tuple[int, bool]]
) -> None:
    line = Line(lots(sizes))
    kept: list[int] = []
    for count, goes_back in steps:
        taken = line.take(count)
        assert sum(map(len, taken)) <= count
        if goes_back:
            line.put_back(taken)
        else:
            kept += ids(taken)
    kept += ids(line.take(1000))

    assert kept == list(range(sum(sizes)))
    assert (line.tasks, round(line.nbytes, 6)) == (0, 0)


def test_suspects_come_first_and_alone() -> None:
    line = Line([lot(0, 3)])
    [suspect] = lot(7, 1).one_by_one()
    line.put_back([Lot(suspect.parcel, 0, 1, is_suspect=True)])

    assert line.tasks == 4
    assert [ids(line.take(10)), ids(line.take(10))] == [[7], [0, 1, 2]]


def test_what_lies_on_a_node_is_taken_there() -> None:
    line = Line([lot(0, 2, "a"), lot(2, 2, "b"), lot(4, 2, "a")])

    assert [ids(line.take(2, "b")), ids(line.take(2, "c")), ids(line.take(2))] == [
        [2, 3],
        [0, 1],
        [4, 5],
    ]


def test_sources_are_told_once() -> None:
    parcel = Stored(None, ["a", "b"], [(("s", 1), ("t", 1)), (("s", 1),)], 8)

    assert keys_of([Lot.of(parcel), Lot.of(parcel)]) == (("s", 1), ("t", 1))
