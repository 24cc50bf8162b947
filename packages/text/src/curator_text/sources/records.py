"""Records: what readers share whose files hold one kind of record, always with the same columns."""

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
"""The values of a record, in the order of the columns."""

Found: TypeAlias = Row | Dropped | Rejected

_PIECE_BYTES = 4 * 1024 * 1024


@dataclass
class RecordReading(ReadingStage[pa.Table], ABC):
    """Reads files into rows. A format says which columns it has and what rows are in a file."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns, whatever is in the files."""

    @abstractmethod
    def rows(self, part: FilePart) -> Iterator[Found]:
        """What is in a file or a range of it."""

    def pieces(self, part: FilePart) -> Iterator[Piece[pa.Table] | Dropped | Rejected]:
        """What was left out is told at the end, added up by its reason."""
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
