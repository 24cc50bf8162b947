"""Columns and rows of Arrow tables: add, replace, read and select them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import InputError


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Return the table with a column added, or replaced if it exists."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def with_columns(table: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Return the table with several columns added or replaced."""
    for name, values in columns.items():
        table = with_column(table, name, values)
    return table


def mask_to_list(mask: pa.BooleanArray | pa.ChunkedArray | Sequence[bool]) -> list[bool]:
    """Return the mask as a list; null counts as false."""
    values = mask.to_pylist() if isinstance(mask, pa.Array | pa.ChunkedArray) else mask
    return [bool(value) for value in values]


def score_numbers(table: pa.Table, score_field: str) -> list[float | None]:
    """Return the numbers of the column that an option `score_field` names."""
    column = table.column(score_field)
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InputError(
            f"column {score_field!r} holds {kind}, but must hold numbers; "
            "name the column of scores in score_field"
        )
    scores: list[float | None] = column.cast(pa.float64()).to_pylist()
    return scores


def rows_where(table: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows for which the mask is true."""
    return _restore_types(without_views(table).filter(mask), table.schema)


def rows_at(table: pa.Table, places: pa.Array | Sequence[int]) -> pa.Table:
    """Return the rows at these positions."""
    wanted = places if isinstance(places, pa.Array) else pa.array(places, pa.int64())
    plain = without_views(table)
    if _are_in_order(wanted, plain) and plain.columns:
        chosen = pa.Table.from_batches(_take_by_chunk(plain, wanted), plain.schema)
    else:
        chosen = plain.take(wanted)
    return _restore_types(chosen, table.schema)


def _are_in_order(places: pa.Array, table: pa.Table) -> bool:
    """Return whether the positions are in range and ascending; repeated positions are allowed."""
    if not len(places) or places[-1].as_py() >= table.num_rows or places[0].as_py() < 0:
        return False
    return pc.all(pc.less_equal(places[:-1], places[1:])).as_py() is not False


def _take_by_chunk(table: pa.Table, places: pa.Array) -> Iterator[pa.RecordBatch]:
    """Take rows chunk by chunk, because `take` on the table would first copy it into one chunk."""
    begin = taken = 0
    for piece in table.to_batches():
        end = begin + piece.num_rows
        upto = pc.sum(pc.less(places, end)).as_py()
        if upto > taken:
            yield piece.take(pc.subtract(places[taken:upto], begin))
        begin, taken = end, upto


def without_views(table: pa.Table) -> pa.Table:
    """Return the table with view columns converted to plain text or bytes."""
    for place, field in enumerate(table.schema):
        if _is_view(field.type):
            column = without_view(table.column(place))
            table = table.set_column(place, field.with_type(column.type), column)
    return table


def without_view(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column as plain text or bytes."""
    if not pa.types.is_dictionary(column.type):
        return column.cast(_without_view_type(column.type))
    kind = pa.dictionary(column.type.index_type, _without_view_type(column.type.value_type))
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind.value_type))
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, kind)


def _restore_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for place, field in enumerate(schema):
        if _is_view(field.type) and not pa.types.is_dictionary(field.type):
            table = table.set_column(place, field, table.column(place).cast(field.type))
    return table


def _is_view(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _without_view_type(kind: pa.DataType) -> pa.DataType:
    return pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()


JSON_MARK = {b"curator:json": b"1"}
"""Metadata of a field that holds JSON text, to be written as JSON and not as a quoted string."""


def json_field(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata=JSON_MARK)


def is_json(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"curator:json") == b"1"
