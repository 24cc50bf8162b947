"""Text columns: Arrow columns of text and their damaged rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import InputError

PIECE_BYTES = 4 * 1024 * 1024


def text_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the column as strings. A column of nulls only becomes a string column."""
    column = table.column(name)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        return pa.chunked_array(map(_decoded, column.chunks), pa.large_string())
    if _is_text(kind):
        return _strings(column)
    raise InputError(
        f"column {name!r} holds {kind}, but must hold text; "
        "name the column of text in text_field, or convert this one"
    )


def _is_text(kind: pa.DataType) -> bool:
    """Whether values can be text. Bytes count as UTF-8 here and are validated later."""
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
              pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)  # fmt: skip
    return any(check(kind) for check in checks)


def _strings(values: Any) -> Any:
    return pc.cast(values, pa.large_string(), safe=False)  # invalid UTF-8 fails only its row


def _decoded(chunk: pa.DictionaryArray) -> pa.Array:
    return _strings(chunk.dictionary).take(chunk.indices)


def pieces_of(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield the column in pieces of a few megabytes, so that results can be freed early."""
    if not len(column):
        yield column
        return
    rows = max(1, len(column) * PIECE_BYTES // max(1, column.nbytes))
    for start in range(0, len(column), rows):
        yield column.slice(start, rows)


def damage_of(column: pa.ChunkedArray) -> dict[int, UnicodeDecodeError]:
    """Return the rows with invalid UTF-8, which Arrow reads from files without an error."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        found = {row: _damage_of(scalar) for row, scalar in enumerate(column)}
        return {row: error for row, error in found.items() if error is not None}
    return {}


def as_texts(values: Sequence[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    """Return new texts as a column of the old column's type."""
    return pa.chunked_array([pa.array(values, kind)])


class NewTexts:
    """Collects texts for a column.

    Only a few megabytes of them are Python strings at a time.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._texts: list[str | None] = []
        self._size = 0
        self._chunks: list[pa.Array] = []

    def add(self, text: str | None) -> None:
        self._texts.append(text)
        self._size += len(text or "")
        if self._size >= PIECE_BYTES:
            self._store()

    def column(self) -> pa.ChunkedArray:
        self._store()
        return pa.chunked_array(self._chunks, self._kind)

    def _store(self) -> None:
        self._chunks.append(pa.array(self._texts, self._kind))
        self._texts, self._size = [], 0


def _damage_of(scalar: pa.Scalar) -> UnicodeDecodeError | None:
    try:
        scalar.as_py()
    except UnicodeDecodeError as error:
        return error
    return None
