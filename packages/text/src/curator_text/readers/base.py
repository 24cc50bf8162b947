"""Base classes of readers: options for the reading stage, and records with fixed columns."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from curator_core import Dropped, FilePart, Rejected
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.readers import FileReader, Piece, ReadingStage

from curator_text.text_columns import BytesColumn


class FormatReader(FileReader, ABC):
    """Lists files and passes the reader's own options to its reading stage."""

    @abstractmethod
    def reading_options(self) -> Sequence[Any]:
        """Return the positional arguments for `reading` after the common ones."""

    def reading_stage(self, listing: FilePartitioning) -> ReadingStage[Any]:
        return self.reading(
            self.fields,
            self.text_field,
            self.add_id,
            self.storage_options,
            listing,
            *self.reading_options(),
        )


_ROW_BYTES = 64
_SIZED = (bytes, memoryview, str)


class _Column(Protocol):
    def append(self, value: Any, /) -> None: ...


class RowBuffer:
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


RowValues: TypeAlias = tuple[Any, ...]
"""Values of a record, in column order."""

RowOutcome: TypeAlias = RowValues | Dropped | Rejected

_PIECE_BYTES = 4 * 1024 * 1024


@dataclass
class RecordReading(ReadingStage[pa.Table], ABC):
    """Reads files into rows. Subclasses define the columns and find the rows."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the columns, which are the same for all files."""

    @abstractmethod
    def rows(self, part: FilePart) -> Iterator[RowOutcome]:
        """Yield the rows of a file or byte range."""

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Dropped | Rejected]:
        """Yield tables of rows. Dropped records are counted by reason and reported at the end."""
        columns = self._columns()
        dropped: Counter[str] = Counter()
        for found in self.rows(part):
            if isinstance(found, tuple):
                columns.add(found)
                if columns.size >= _PIECE_BYTES:
                    yield self._piece(columns)
                    columns = self._columns()
            elif isinstance(found, Dropped):
                dropped[found.reason] += found.items
            else:
                yield found
        if columns.size:
            yield self._piece(columns)
        for reason, items in dropped.items():
            yield Dropped(reason, items)

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        return tuple(self.schema().names)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        names = frozenset(self.fields or self.schema().names)
        return names | {self.id_column} if self.id_column else names

    def _columns(self) -> RowBuffer:
        return RowBuffer(self.schema(), _PIECE_BYTES + _PIECE_BYTES // 4)

    def _piece(self, columns: RowBuffer) -> Piece[pa.Table]:
        table = columns.table()
        return Piece(table.select(self.fields) if self.fields else table, columns.size)
