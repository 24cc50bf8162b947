"""Columns of tables: added, replaced, and read as flags."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """The table with these values under that name, in place of what stood there."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def with_columns(table: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """The same for several."""
    for name, values in columns.items():
        table = with_column(table, name, values)
    return table


def flags_in(mask: pa.BooleanArray | pa.ChunkedArray | Sequence[bool]) -> list[bool]:
    """What is neither true nor false counts as false."""
    values = mask.to_pylist() if isinstance(mask, pa.Array | pa.ChunkedArray) else mask
    return [bool(value) for value in values]
