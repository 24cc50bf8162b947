"""Records: what readers share whose files hold one kind of record, always with the same columns."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from curator_core import Dropped, Rejected
from curator_core.files import FilePart
from curator_core.reading.stages import Piece, ReadingStage

Row: TypeAlias = tuple[Any, ...]
"""The values of a record, in the order of the columns."""

Found: TypeAlias = Row | Dropped | Rejected

_PIECE_BYTES = 4 * 1024 * 1024
_ROW_BYTES = 64
_SIZED = (bytes, str)


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
        rows: list[Row] = []
        size = 0
        dropped: Counter[str] = Counter()
        for found in self.rows(part):
            if isinstance(found, Dropped):
                dropped[found.reason] += found.items
            elif isinstance(found, Rejected):
                yield found
            else:
                rows.append(found)
                size += _ROW_BYTES + sum([len(v) for v in found if type(v) in _SIZED])
            if size >= _PIECE_BYTES:
                yield self._piece(rows, size)
                rows, size = [], 0
        if rows:
            yield self._piece(rows, size)
        for reason, items in dropped.items():
            yield Dropped(reason, items)

    def table(self, pieces: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(pieces)

    def sample(self, part: FilePart) -> tuple[str, ...]:
        return tuple(self.schema().names)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        names = frozenset(self.fields or self.schema().names)
        return names | {self.id_column} if self.id_column else names

    def _piece(self, rows: Sequence[Row], size: int) -> Piece[pa.Table]:
        schema = self.schema()
        values = zip(zip(*rows, strict=True), schema.types, strict=True)
        table = pa.Table.from_arrays([pa.array(*one) for one in values], schema=schema)
        return Piece(table.select(self.fields) if self.fields else table, size)
