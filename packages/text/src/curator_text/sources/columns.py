"""Columns: rows are taken apart as they come, so that nothing of what they came from is kept."""

from array import array
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

_FIRST_BYTES = 64 * 1024
_ROW_BYTES = 64
_SIZED = (bytes, memoryview, str)


class _Column(Protocol):
    def append(self, value: Any, /) -> None: ...


class Columns:
    """The rows so far, and about how many bytes they are."""

    def __init__(self, schema: pa.Schema, expected_bytes: int) -> None:
        self._schema = schema
        self._columns: list[_Column] = [
            BytesColumn(expected_bytes) if pa.types.is_binary(kind) else [] for kind in schema.types
        ]
        self.size = 0

    def add(self, row: Sequence[Any]) -> None:
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.size += _ROW_BYTES + sum([len(value) for value in row if type(value) in _SIZED])

    def table(self) -> pa.Table:
        arrays = [
            column.array() if isinstance(column, BytesColumn) else pa.array(column, kind)
            for column, kind in zip(self._columns, self._schema.types, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)


class BytesColumn:
    """Bytes put behind each other in Arrow's own memory, which is there again for the next ones.

    Memory that the system has to give anew costs more than what is done in it.
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

    def array(self) -> pa.Array:
        count, used = len(self._ends) - 1, self._ends[-1]
        is_there = None
        if self._missing:
            missing = set(self._missing)
            is_there = pa.array([row not in missing for row in range(count)]).buffers()[1]
        buffers = [is_there, pa.py_buffer(self._ends), self._buffer.slice(0, used)]
        return pa.Array.from_buffers(pa.binary(), count, buffers)

    def _grow(self, least: int) -> None:
        held = self._view[: self._ends[-1]]
        self._allocate(max(least, 2 * len(self._view)))
        self._view[: len(held)] = held

    def _allocate(self, size: int) -> None:
        self._buffer = pa.allocate_buffer(size)
        self._view = memoryview(self._buffer).cast("B")
