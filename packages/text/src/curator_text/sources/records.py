"""Records: base class for reading files that hold one kind of record with fixed columns."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from curator_core import Dropped, Rejected
from curator_core.io.readers.base import Piece, ReadingStage
from curator_core.model.files import FilePart

from curator_text.sources.columns import Columns

Row: TypeAlias = tuple[Any, ...]
"""Values of a record, in column order."""

Found: TypeAlias = Row | Dropped | Rejected

_PIECE_BYTES = 4 * 1024 * 1024


@dataclass
class RecordReading(ReadingStage[pa.Table], ABC):
    """Reads files into rows. Subclasses define the columns and find the rows."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the columns, which are the same for all files."""

    @abstractmethod
    def rows(self, part: FilePart) -> Iterator[Found]:
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

    def _columns(self) -> Columns:
        return Columns(self.schema(), _PIECE_BYTES + _PIECE_BYTES // 4)

    def _piece(self, columns: Columns) -> Piece[pa.Table]:
        table = columns.table()
        return Piece(table.select(self.fields) if self.fields else table, columns.size)
