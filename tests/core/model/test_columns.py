"""Columns of tables."""

import pyarrow as pa
from curator_core.model.arrow import mask_to_list, with_columns


def test_columns_are_added_and_replaced_in_their_places() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    changed = with_columns(table, {"a": ["p", "q"], "c": pa.array([True, None])})
    assert changed.to_pydict() == {"a": ["p", "q"], "b": ["x", "y"], "c": [True, None]}
    assert changed.column_names == ["a", "b", "c"]
    assert table.column_names == ["a", "b"]


def test_null_counts_as_false() -> None:
    for mask in ([True, False, None], pa.array([True, False, None])):
        assert mask_to_list(mask) == [True, False, False]
