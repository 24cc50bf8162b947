"""Tables from records, with column types that depend only on the values.

Text stays text, integers mixed with floats become floats, and lists of one type become lists.
Nested or irregular values are stored as JSON; values mixed with text become text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import InputError
from curator_core.io.readers.json_records import MAX_KEYS, Record, dump_json
from curator_core.model.arrow import json_field

NULL, TEXT, JSON, FLOAT = "null", "text", "json", "float"

MAX_CELLS = 8_000_000
"""Limit of rows times columns in a batch. Only batches with mostly empty cells get near it."""

_MANY = 64
_SPARSE = 4

_SCALARS: dict[type, str] = {
    type(None): NULL,
    str: TEXT,
    bool: "bool",
    int: "int",
    float: FLOAT,
}
_TYPES: dict[str, Callable[[], pa.DataType]] = {
    NULL: pa.string,
    TEXT: pa.string,
    JSON: pa.string,
    "bool": pa.bool_,
    "int": pa.int64,
    FLOAT: pa.float64,
}
_LIST = "list of "

_POOL = pa.system_memory_pool()  # returns large blocks at once; the default pool keeps them


@dataclass(frozen=True)
class Columns:
    """Records as columns; each has an array and the kind of its values."""

    arrays: dict[str, tuple[str, pa.Array]]
    rows: int

    def may_be_rounded(self) -> bool:
        """Return whether a number may have been an integer of more than 64 bits."""
        return any(_may_be_rounded(*column) for column in self.arrays.values())


def _may_be_rounded(kind: str, array: pa.Array) -> bool:
    if kind == JSON:
        return True
    if kind == _LIST + FLOAT:
        array = array.flatten()
    elif kind != FLOAT:
        return False
    extremes = pc.min_max(array)
    return any((one.as_py() or 0) >= 2**63 for one in (extremes["max"], pc.negate(extremes["min"])))


class TooWideError(InputError):
    """Records with more distinct keys than a table may have columns."""

    def __init__(self, columns: int) -> None:
        super().__init__(
            f"{columns:,} different keys in one batch, more than {MAX_KEYS:,}: keep keys that "
            "are data in a mapping under one key, or name the columns to keep in fields"
        )


def is_too_wide(columns: int, rows: int) -> bool:
    """Return whether a table would exceed the limits."""
    return columns > MAX_KEYS or (rows > 1 and columns * rows > MAX_CELLS)


def split_columns(records: Sequence[Record], text_field: str | None = None) -> list[Columns]:
    """Return the columns of all records, in several portions if one table would be too wide."""
    names = dict.fromkeys(chain.from_iterable(records))
    if not is_too_wide(len(names), len(records)):
        return [_columns(records, names, text_field)]
    return [to_columns(some, None, text_field) for some in _narrow_portions(records)]


def _narrow_portions(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    start, names = 0, set[str]()
    for at, record in enumerate(records):
        names.update(record)
        if at > start and is_too_wide(len(names), at + 1 - start):
            yield records[start:at]
            start, names = at, set(record)
    yield records[start:]


def to_columns(
    records: Sequence[Record], fields: Sequence[str] | None = None, text_field: str | None = None
) -> Columns:
    """Return columns in the order in which the records name them, or only `fields`."""
    if fields is None:
        return _columns(records, dict.fromkeys(chain.from_iterable(records)), text_field)
    return _dense_columns(records, fields, text_field)


def _columns(records: Sequence[Record], names: Collection[str], text_field: str | None) -> Columns:
    if len(names) > MAX_KEYS:
        raise TooWideError(len(names))
    cells = len(names) * len(records)
    if len(names) > _MANY and cells > _SPARSE * sum(map(len, records)):
        return _sparse_columns(records, names, text_field)
    return _dense_columns(records, names, text_field)


def _dense_columns(
    records: Sequence[Record], names: Iterable[str], text_field: str | None
) -> Columns:
    arrays = {name: _column(records, name, name == text_field) for name in names}
    return Columns(arrays, len(records))


def _sparse_columns(
    records: Sequence[Record], names: Collection[str], text_field: str | None
) -> Columns:
    """Build columns in time proportional to the existing values, not to rows times columns."""
    values: dict[str, tuple[list[int], list[Any]]] = {name: ([], []) for name in names}
    for row, record in enumerate(records):
        for name, value in record.items():
            rows, found = values[name]
            rows.append(row)
            found.append(value)
    arrays = {
        name: _spread(rows, *_make_array(found, name == text_field), len(records))
        for name, (rows, found) in values.items()
    }
    return Columns(arrays, len(records))


def _spread(rows: list[int], kind: str, array: pa.Array, count: int) -> tuple[str, pa.Array]:
    """Return an array with the values at these rows and null elsewhere."""
    pieces, done, used = [], 0, 0
    for at, row in enumerate(rows):
        if row > done + at - used:  # the end of consecutive rows
            pieces += [array.slice(used, at - used), pa.nulls(row - done - at + used, array.type)]
            done, used = row, at
    rest = count - done - len(rows) + used
    pieces += [array.slice(used), pa.nulls(rest, array.type)]
    return kind, pa.concat_arrays(pieces, _POOL)


def to_table(pieces: Sequence[Columns]) -> pa.Table:
    """Join pieces into one table; each column gets a type that holds all its values."""
    rows = sum(piece.rows for piece in pieces)
    names = dict.fromkeys(chain.from_iterable(piece.arrays for piece in pieces))
    if len(names) > MAX_KEYS:
        raise TooWideError(len(names))
    if not names:  # records without any keys still count as rows
        return pa.table({"": pa.nulls(rows)}).select([])
    columns = [_unify_column(name, pieces) for name in names]
    return pa.table([column for _, column in columns], schema=pa.schema([f for f, _ in columns]))


def _column(records: Sequence[Record], name: str, is_text: bool) -> tuple[str, pa.Array]:
    try:
        values = list(map(itemgetter(name), records))
    except KeyError:
        values = [record.get(name) for record in records]
    return _make_array(values, is_text)


def _make_array(values: list[Any], is_text: bool) -> tuple[str, pa.Array]:
    kind = _kind_of(values)
    if is_text and kind != NULL:
        kind = TEXT
    try:
        return kind, _array(values, kind)
    except (OverflowError, pa.ArrowInvalid):  # a number too large for its type
        return JSON, _array(values, JSON)


def _kind_of(values: Iterable[Any]) -> str:
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds == {list}:
        return _list_kind(values)
    return common_kind(_SCALARS.get(kind, JSON) for kind in kinds)


def _list_kind(lists: Iterable[Any]) -> str:
    kinds = {_SCALARS.get(kind, JSON) for one in lists if one for kind in map(type, one)}
    kinds.discard(NULL)
    if JSON in kinds or (len(kinds) > 1 and kinds != {"int", FLOAT}):
        return JSON
    return _LIST + common_kind(kinds)


def common_kind(kinds: Iterable[str]) -> str:
    """Return the kind that can hold values of all these kinds."""
    several = set(kinds) - {NULL}
    if len(several) < 2:
        return next(iter(several), NULL)
    if TEXT in several:
        return TEXT
    if several == {"int", FLOAT}:
        return FLOAT
    if all(kind.startswith(_LIST) for kind in several):
        inner = {kind.removeprefix(_LIST) for kind in several} - {NULL}
        if len(inner) == 1 or inner == {"int", FLOAT}:
            return _LIST + common_kind(inner)
    return JSON


def _type_of(kind: str) -> pa.DataType:
    if kind.startswith(_LIST):
        return pa.list_(_TYPES[kind.removeprefix(_LIST)]())
    return _TYPES[kind]()


def _array(values: list[Any], kind: str) -> pa.Array:
    if kind == JSON:
        values = [None if value is None else dump_json(value) for value in values]
    elif kind == TEXT and not set(map(type, values)) <= {str, type(None)}:
        values = [_as_text(value) for value in values]
    return pa.array(values, _type_of(kind), memory_pool=_POOL)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else dump_json(value)


def _unify_column(name: str, pieces: Sequence[Columns]) -> tuple[pa.Field, pa.ChunkedArray]:
    found = [piece.arrays.get(name, (NULL, None)) for piece in pieces]
    kind = common_kind(kind for kind, _ in found)
    rows = [piece.rows for piece in pieces]
    try:
        arrays = [_as_kind(*one, kind, n) for one, n in zip(found, rows, strict=True)]
    except pa.ArrowInvalid:  # an integer that a float cannot represent
        kind = JSON
        arrays = [_as_kind(*one, kind, n) for one, n in zip(found, rows, strict=True)]
    field = json_field(name) if kind == JSON else pa.field(name, _type_of(kind))
    return field, pa.chunked_array(arrays, field.type)


def _as_kind(was: str, array: pa.Array | None, kind: str, rows: int) -> pa.Array:
    if array is None or was == NULL:
        return pa.nulls(rows, _type_of(kind))
    if was == kind:
        return array
    if kind == TEXT and was == JSON:
        return array
    if kind in (TEXT, JSON):
        return _array(array.to_pylist(), kind)
    return array.cast(_type_of(kind))
