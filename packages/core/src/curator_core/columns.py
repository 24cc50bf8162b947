"""Columns of tables: added, replaced, and read as flags and as scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from curator_core.errors import InputError


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


def numbers_in(table: pa.Table, score_field: str) -> list[float | None]:
    """The numbers of a column that an option `score_field` names."""
    column = table.column(score_field)
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InputError(
            f"column {score_field!r} holds {kind}, but must hold numbers; "
            "name the column of scores in score_field"
        )
    scores: list[float | None] = column.cast(pa.float64()).to_pylist()
    return scores
