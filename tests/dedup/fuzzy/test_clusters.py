"""Connected components are the same in memory and by partition."""

import itertools

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch
from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.fuzzy.clusters import MOVED, Star
from curator_dedup.passes.group import connected_components
from hypothesis import given, settings
from hypothesis import strategies as st

EDGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)


def by_hand(count: int, edges: list[tuple[int, int]]) -> list[int]:
    labels = list(range(count))
    for _ in range(count):
        for one, other in edges:
            labels[one] = labels[other] = min(labels[one], labels[other])
    return labels


def arrays(edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(edges, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@settings(max_examples=100, deadline=None)
@given(edges=EDGES)
def test_components_agree_with_a_plain_search(edges: list[tuple[int, int]]) -> None:
    wanted = by_hand(31, edges)
    assert connected_components(31, *arrays(edges)).tolist() == wanted


def test_long_chain_is_one_component() -> None:
    order = np.random.default_rng(0).permutation(100_000)
    assert not connected_components(100_000, order[:-1], order[1:]).any()


def spread(edges: list[tuple[int, int]], partitions: int) -> dict[int, int]:
    """Do in memory what the workflow does with files."""
    pieces = _placed(_table(*(array.astype(np.uint64) for array in arrays(edges))), partitions)
    pieces = _round("both", pieces, partitions)[0]
    moved = 1
    rounds = 0
    while moved:
        pieces, first = _round("large", pieces, partitions)
        pieces, second = _round("small", pieces, partitions)
        moved = first + second
        rounds += 1
        assert rounds < 30
    labels = {node: node for edge in edges for node in edge}
    for piece in pieces:
        for one, other in zip(numbers_in(piece["doc"]), numbers_in(piece["to"]), strict=True):
            if other < one:
                labels[int(one)] = int(other)
    return labels


def _table(ones: np.ndarray, others: np.ndarray) -> pa.Table:
    return pa.table({"doc": binary_column(ones), "to": binary_column(others)})


def _placed(table: pa.Table, partitions: int) -> list[pa.Table]:
    places = numbers_in(table["doc"]) % partitions
    return [table.filter(pa.array(places == number)) for number in range(partitions)]


def _round(kind: str, pieces: list[pa.Table], partitions: int) -> tuple[list[pa.Table], int]:
    import json

    made, moved = [_table(np.zeros(0, np.uint64), np.zeros(0, np.uint64))], 0
    for piece in pieces:
        for batch in Star(kind).process(DocumentBatch(piece)):  # type: ignore[arg-type]
            if isinstance(batch, DocumentBatch):
                made.append(batch.data)
                moved += json.loads(batch.data.schema.metadata[b"curator_dedup"])[MOVED]
    return _placed(
        pa.concat_tables([one.replace_schema_metadata() for one in made]), partitions
    ), moved


@settings(max_examples=60, deadline=None)
@given(edges=EDGES, partitions=st.integers(1, 5))
def test_partitions_find_the_same_clusters(edges: list[tuple[int, int]], partitions: int) -> None:
    wanted = by_hand(31, edges)
    assert spread(edges, partitions) == {node: wanted[node] for edge in edges for node in edge}


def test_long_chain_takes_few_rounds() -> None:
    order = np.random.default_rng(0).permutation(2000).tolist()
    edges = list(itertools.pairwise(order))
    assert set(spread(edges, 4).values()) == {0}
