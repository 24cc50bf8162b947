"""Rows of tables in many chunks: the same as Arrow's `take`, without joining the chunks."""

import pyarrow as pa
import pytest
from curator_core.model.arrow import rows_at
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables whose columns have different chunks, some of them empty."""
    size = draw(st.integers(1, 30))

    def column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray:
        cuts = sorted(draw(st.lists(st.integers(0, size), max_size=4)))
        bounds = zip([0, *cuts], [*cuts, size], strict=True)
        return pa.chunked_array([pa.array(values[a:b], kind) for a, b in bounds], kind)

    kind = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    texts = [None if row % 7 == 3 else f"text {row}" for row in range(size)]
    return pa.table({"text": column(texts, kind), "n": column([*range(size)], pa.int64())})


@given(tables(), st.data(), st.booleans())
def test_rows_are_returned_in_the_requested_order(
    table: pa.Table, data: st.DataObject, in_order: bool
) -> None:
    places = data.draw(st.lists(st.integers(0, table.num_rows - 1)))
    places = sorted(places) if in_order else places
    rows = table.to_pylist()
    given = rows_at(table, places)
    assert given.schema == table.schema
    assert given.to_pylist() == [rows[place] for place in places]


@pytest.mark.parametrize("places", [[0, 2], [-1, 0], [2]])
def test_a_place_beyond_the_table_is_refused(places: list[int]) -> None:
    with pytest.raises(IndexError):
        rows_at(pa.table({"text": ["a", "b"]}), places)


def test_a_few_rows_of_many_pieces_take_no_copy_of_the_whole() -> None:
    pieces = [[f"{row} " + "word " * 200 for row in range(1000)] for _ in range(4)]
    table = pa.table({"text": pa.chunked_array(pieces)})
    before = pa.default_memory_pool().total_bytes_allocated()
    rows_at(table, [5, 1500, 3999])
    assert pa.default_memory_pool().total_bytes_allocated() - before < table.nbytes / 20
