"""Columns: records become Arrow tables, with types that follow from the values alone.

Text stays text, whole numbers and fractions together become fractions, lists of one kind become
lists. What is nested or irregular is kept as JSON; what is mixed with text becomes text.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.json_columns import json_field
from curator_core.reading.records import Record, dumped

NULL, TEXT, JSON, FLOAT = "null", "text", "json", "float"

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

_POOL = pa.system_memory_pool()  # gives large blocks back at once; the default one holds on to them


@dataclass(frozen=True)
class Columns:
    """Some records as columns, each an array and the kind of its values."""

    arrays: dict[str, tuple[str, pa.Array]]
    rows: int

    def may_be_rounded(self) -> bool:
        """Whether a number can have been an integer of more than 64 bits."""
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


def columns_of(
    records: Sequence[Record], fields: Sequence[str] | None = None, text_field: str | None = None
) -> Columns:
    """Columns in the order in which the records name them, or only `fields`."""
    names = dict.fromkeys(chain.from_iterable(records)) if fields is None else fields
    arrays = {name: _column(records, name, name == text_field) for name in names}
    return Columns(arrays, len(records))


def table_of(pieces: Sequence[Columns]) -> pa.Table:
    """One table of several pieces, whose columns get the kind that holds them all."""
    rows = sum(piece.rows for piece in pieces)
    names = dict.fromkeys(chain.from_iterable(piece.arrays for piece in pieces))
    if not names:  # records without any key are records nonetheless
        return pa.table({"": pa.nulls(rows)}).select([])
    columns = [_united(name, pieces) for name in names]
    return pa.table([column for _, column in columns], schema=pa.schema([f for f, _ in columns]))


def _column(records: Sequence[Record], name: str, is_text: bool) -> tuple[str, pa.Array]:
    try:
        values = list(map(itemgetter(name), records))
    except KeyError:
        values = [record.get(name) for record in records]
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
    return joined(_SCALARS.get(kind, JSON) for kind in kinds)


def _list_kind(lists: Iterable[Any]) -> str:
    kinds = {_SCALARS.get(kind, JSON) for one in lists if one for kind in map(type, one)}
    kinds.discard(NULL)
    if JSON in kinds or (len(kinds) > 1 and kinds != {"int", FLOAT}):
        return JSON
    return _LIST + joined(kinds)


def joined(kinds: Iterable[str]) -> str:
    """The kind that holds values of all these kinds."""
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
            return _LIST + joined(inner)
    return JSON


def _type_of(kind: str) -> pa.DataType:
    if kind.startswith(_LIST):
        return pa.list_(_TYPES[kind.removeprefix(_LIST)]())
    return _TYPES[kind]()


def _array(values: list[Any], kind: str) -> pa.Array:
    if kind == JSON:
        values = [None if value is None else dumped(value) for value in values]
    elif kind == TEXT and not set(map(type, values)) <= {str, type(None)}:
        values = [_as_text(value) for value in values]
    return pa.array(values, _type_of(kind), memory_pool=_POOL)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else dumped(value)


def _united(name: str, pieces: Sequence[Columns]) -> tuple[pa.Field, pa.ChunkedArray]:
    found = [piece.arrays.get(name, (NULL, None)) for piece in pieces]
    kind = joined(kind for kind, _ in found)
    rows = [piece.rows for piece in pieces]
    try:
        arrays = [_as_kind(*one, kind, n) for one, n in zip(found, rows, strict=True)]
    except pa.ArrowInvalid:  # a whole number that no fraction can stand for
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
