"""Columns: collect rows column by column, so that source buffers can be freed."""

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from curator_text.byte_columns import BytesColumn

_ROW_BYTES = 64
_SIZED = (bytes, memoryview, str)


class _Column(Protocol):
    def append(self, value: Any, /) -> None: ...


class Columns:
    """Rows collected so far, and their approximate size in bytes."""

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
