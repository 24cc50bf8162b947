"""Reading vectors from files, in bounded pieces, for any format."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import FilePart, InputError, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers.json_records import BadLine, parse
from curator_core.io.readers.lines import Lines

from curator_dedup.blocks import is_parquet
from curator_dedup.lines import Piece, pieces_of
from curator_dedup.readings import column_of, tables_of
from curator_dedup.semantic.embedding import PLACE
from curator_dedup.semantic.vectors import (
    BadVectorError,
    Mask,
    Matrix,
    vectors_of_column,
    vectors_of_values,
)


@dataclass
class VectorReading:
    """Consecutive documents: positions, and the unit vectors of those that have one."""

    positions: npt.NDArray[np.int64]
    has: Mask
    matrix: Matrix
    ids: list[str | None] | None = None
    places: pa.Table | None = None
    """The columns of `PLACE`, if the vectors were computed from documents in other files."""

    bad: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rejected: list[Rejected] = field(default_factory=list)


@dataclass
class VectorFile:
    """A file of vectors with one dimension: the given one, or that of the first vector."""

    part: FilePart
    vector_field: str
    id_field: str | None = None
    dimension: int | None = None
    storage_options: StorageOptions | None = None
    has_places: bool = False

    def readings(self) -> Iterator[VectorReading]:
        found = self._of_parquet() if is_parquet(self.part.path) else self._of_lines()
        for reading in found:
            if len(reading.matrix):
                self.dimension = reading.matrix.shape[1]
            yield reading

    def _of_parquet(self) -> Iterator[VectorReading]:
        names = [self.vector_field, *([self.id_field] if self.id_field else [])]
        names += PLACE if self.has_places else ()
        for start, table in tables_of(self.part, self.storage_options, names):
            positions = np.arange(start, start + table.num_rows)
            try:
                found = vectors_of_column(self._vectors(table), self.dimension)
            except BadVectorError as error:
                raise self._told(error, f"row {start + error.row}") from None
            ids = column_of(table, self.id_field) if self.id_field else None
            places = table.select(PLACE) if self.has_places else None
            yield VectorReading(positions, found.has, found.matrix, _texts(ids), places)

    def _vectors(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the vector column. Fail without one: the file would be kept uncompared."""
        if self.vector_field in table.column_names:
            return table.column(self.vector_field)
        raise InputError(
            f"{self.part.path} has no column {self.vector_field!r}; "
            "leave the file out, or give its vectors that name"
        )

    def _of_lines(self) -> Iterator[VectorReading]:
        for piece in pieces_of(self.part, self.storage_options):
            yield self._of_piece(piece)

    def _of_piece(self, piece: Piece) -> VectorReading:
        # Not 0: there a byte order mark would be looked for again.
        parsed = parse(Lines(piece.data, 1, piece.too_long))
        numbers = [line.number for line in parsed.bad]
        positions, bad = np.delete(piece.positions, numbers), piece.positions[numbers]
        try:
            found = vectors_of_values(
                [record.get(self.vector_field) for record in parsed.records], self.dimension
            )
        except BadVectorError as error:
            raise self._told(error, f"byte {positions[error.row]}") from None
        ids = None
        if self.id_field:
            ids = [_text(record.get(self.id_field)) for record in parsed.records]
        rejected = [self._rejected(line, at) for line, at in zip(parsed.bad, bad, strict=True)]
        return VectorReading(positions, found.has, found.matrix, ids, bad=bad, rejected=rejected)

    def _rejected(self, line: BadLine, position: int) -> Rejected:
        column = f" column {line.column}" if line.column else ""
        where = f"{self.part.path} byte {position}{column}"
        return Rejected(line.reason, where, payload=line.text)

    def _told(self, error: BadVectorError, place: str) -> InputError:
        return InputError(
            f"{self.part.path} {place}: the vector in {self.vector_field!r} {error.reason}; "
            "mend it, make it null, or leave the file out"
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _texts(column: pa.ChunkedArray | None) -> list[str | None] | None:
    if column is None:
        return None
    try:
        return list(pc.cast(column, pa.string()).to_pylist())
    except pa.ArrowException:
        return [_text(value) for value in column.to_pylist()]
