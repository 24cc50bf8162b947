"""Columns of text: read them row by row, find damaged rows, build new ones."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, InputError
from curator_core.model.unicode import MOST_MARKS, stream_safe

Raw: TypeAlias = str | UnicodeDecodeError | None
"""A text, a decoding error for bytes that are not UTF-8, or None if the text is missing."""

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
        return pa.chunked_array(map(_decode_dictionary, column.chunks), pa.large_string())
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


def _decode_dictionary(chunk: pa.DictionaryArray) -> pa.Array:
    return _strings(chunk.dictionary).take(chunk.indices)


def split_column(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield the column in pieces of a few megabytes, so that results can be freed early."""
    if not len(column):
        yield column
        return
    rows = max(1, len(column) * PIECE_BYTES // max(1, column.nbytes))
    for start in range(0, len(column), rows):
        yield column.slice(start, rows)


def find_invalid_utf8(column: pa.ChunkedArray) -> dict[int, UnicodeDecodeError]:
    """Return the rows with invalid UTF-8, which Arrow reads from files without an error."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        found = {row: _utf8_error(scalar) for row, scalar in enumerate(column)}
        return {row: error for row, error in found.items() if error is not None}
    return {}


def to_text_column(values: Sequence[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    """Return new texts as a column of the old column's type."""
    return pa.chunked_array([pa.array(values, kind)])


class TextColumnBuilder:
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


def _utf8_error(scalar: pa.Scalar) -> UnicodeDecodeError | None:
    try:
        scalar.as_py()
    except UnicodeDecodeError as error:
        return error
    return None


def read_texts(task: DocumentBatch, name: str) -> list[Raw]:
    """Return a column's texts row by row. Invalid UTF-8 affects only its own row."""
    return list(each_text(split_column(text_column(task.data, name))))


def each_text(pieces: Iterable[pa.ChunkedArray]) -> Iterator[Raw]:
    """Yield the texts one by one, so that only one piece is in memory at a time."""
    for piece in pieces:
        try:
            texts: list[Raw] = piece.to_pylist()
        except UnicodeDecodeError:
            texts = [_read_text(scalar) for scalar in piece]
        yield from texts


def _read_text(scalar: pa.Scalar) -> Raw:
    try:
        text: str | None = scalar.as_py()
    except UnicodeDecodeError as error:
        return error
    return text


def make_stream_safe(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Apply `stream_safe` to each text that needs it. Returns the same column if none does."""
    suspect = pc.match_substring_regex(texts, rf"\p{{M}}{{{MOST_MARKS}}}")
    if not pc.any(suspect).as_py():
        return texts
    rows = zip(texts.to_pylist(), suspect.to_pylist(), strict=True)
    safe = [stream_safe(text) if is_suspect else text for text, is_suspect in rows]
    return pa.chunked_array([pa.array(safe, texts.type)])


_FIRST_BYTES = 64 * 1024


class BytesColumn:
    """Appends byte strings to a buffer from Arrow's memory pool.

    The pool reuses freed buffers; fresh memory from the system costs more than filling it.
    """

    def __init__(self, expected_bytes: int = _FIRST_BYTES) -> None:
        self._allocate(expected_bytes)
        self._ends = array("i", [0])
        self._missing: list[int] = []

    def append(self, value: bytes | memoryview | None, /) -> None:
        start = end = self._ends[-1]
        if value is None:
            self._missing.append(len(self._ends) - 1)
        else:
            end += len(value)
            if end > len(self._view):
                self._grow(end)
            self._view[start:end] = value
        self._ends.append(end)

    def array(self, kind: pa.DataType | None = None) -> pa.Array:
        """Return the appended values as an Arrow array of bytes, or of `kind`."""
        count, used = len(self._ends) - 1, self._ends[-1]
        is_there = None
        if self._missing:
            missing = set(self._missing)
            is_there = pa.array([row not in missing for row in range(count)]).buffers()[1]
        buffers = [is_there, pa.py_buffer(self._ends), self._buffer.slice(0, used)]
        return pa.Array.from_buffers(kind or pa.binary(), count, buffers)

    def _grow(self, least: int) -> None:
        held = self._view[: self._ends[-1]]
        self._allocate(max(least, 2 * len(self._view)))
        self._view[: len(held)] = held

    def _allocate(self, size: int) -> None:
        self._buffer = pa.allocate_buffer(size)
        self._view = memoryview(self._buffer).cast("B")
