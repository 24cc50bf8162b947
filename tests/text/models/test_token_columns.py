import numpy as np
import pyarrow as pa
from curator_text.models.token_columns import TokenRows, as_column
from hypothesis import given
from hypothesis import strategies as st

TOKENS = st.lists(st.none() | st.lists(st.integers(1, 2**31 - 1), max_size=5), max_size=12)


@given(tokens=TOKENS, start=st.integers(0, 12), cut=st.integers(0, 12))
def test_tokens_come_back_as_they_were_also_from_parts_of_columns(
    tokens: list[list[int] | None], start: int, cut: int
) -> None:
    column = pa.chunked_array([as_column(tokens[:cut]), as_column(tokens[cut:])]).slice(start)
    rows = TokenRows.of(column)

    expected = {place: row for place, row in enumerate(tokens[start:]) if row}
    assert rows.rows == list(expected)
    assert rows.lengths == [len(row) for row in expected.values()]
    if not expected:
        return
    places = list(range(len(rows.rows)))[::-1]
    for side in ("right", "left"):
        ids, mask = rows.padded(places, pad=0, side=side)
        for line, place in enumerate(places):
            assert ids[line][mask[line] == 1].tolist() == expected[rows.rows[place]]
            assert not ids[line][mask[line] == 0].any()
            edge = mask[line][:: 1 if side == "right" else -1]
            assert (np.diff(edge) <= 0).all(), "filled up on one side only"
