"""Vectors: read them from files, validated and scaled to length 1."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import CuratorError, FilePart, InputError, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers import BadLine, Lines, parse_lines

from curator_dedup.line_reader import LineBatch, read_lines
from curator_dedup.passes.group import Mask
from curator_dedup.passes.list import is_parquet
from curator_dedup.semantic.embedding import DOCUMENT_PLACE
from curator_dedup.text_reader import column_of, read_tables

Matrix: TypeAlias = npt.NDArray[np.float32]


class BadVectorError(CuratorError):
    """A vector that cannot be compared, with its row number in the input."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason


class Vectors(NamedTuple):
    """Unit vectors and the rows that have one: a missing vector, or one of zeros, has none."""

    matrix: Matrix
    has: Mask


def parse_vector_column(column: pa.ChunkedArray, dimension: int | None) -> Vectors:
    """Read vectors from an Arrow column of lists, of fixed size or not, or of tensors."""
    whole = column.combine_chunks()
    array = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_null(array.type):
        return Vectors(np.zeros((0, dimension or 0), np.float32), np.zeros(len(array), np.bool_))
    _refuse_other_types(array.type)
    rows = np.flatnonzero(np.asarray(array.is_valid()))
    given = array.drop_null()
    lengths = np.full(len(given), getattr(given.type, "list_size", -1), np.int64)
    if lengths.size and lengths[0] < 0:
        lengths = pc.list_value_length(given).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = given.flatten()
    if numbers.null_count:
        first = np.flatnonzero(np.asarray(numbers.is_null()))[0]
        place = np.searchsorted(np.cumsum(lengths), first, side="right")
        raise BadVectorError(int(rows[place]), "has an empty number (null) in it")
    values = numbers.to_numpy(zero_copy_only=False)
    return _scale(values, lengths, rows, len(array), dimension)


def _refuse_other_types(kind: pa.DataType) -> None:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    numbers = (pa.types.is_floating, pa.types.is_integer)
    if not any(check(kind) for check in lists) or not any(
        check(kind.value_type) for check in numbers
    ):
        raise BadVectorError(0, f"is {kind}, not a list of numbers")


def parse_vector_values(values: list[Any], dimension: int | None) -> Vectors:
    """Read vectors from lists as parsed from JSON."""
    rows = [row for row, value in enumerate(values) if value is not None]
    lengths = np.zeros(len(rows), np.int64)
    for place, row in enumerate(rows):
        if not isinstance(values[row], list):
            raise BadVectorError(row, f"is {_shorten(values[row])}, not a list of numbers")
        lengths[place] = len(values[row])
    flat = [number for row in rows for number in values[row]]
    if set(map(type, flat)) <= {float, int}:
        numbers = np.array(flat, np.float64)
        return _scale(numbers, lengths, np.array(rows, np.int64), len(values), dimension)
    for row in rows:
        wrong = [one for one in values[row] if type(one) not in (float, int)]
        if wrong:
            raise BadVectorError(row, f"has {_shorten(wrong[0])} among its numbers")
    raise AssertionError("all values are numbers")


def _scale(
    values: npt.NDArray[Any],
    lengths: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    count: int,
    dimension: int | None,
) -> Vectors:
    has = np.zeros(count, np.bool_)
    some = np.flatnonzero(lengths)
    if not len(some):
        return Vectors(np.zeros((0, dimension or 0), np.float32), has)
    expected = int(lengths[some[0]]) if dimension is None else dimension
    other = some[lengths[some] != expected]
    if len(other):
        raise BadVectorError(
            int(rows[other[0]]), f"has {lengths[other[0]]} numbers, but others have {expected}"
        )
    matrix = values.reshape(-1, expected)
    kept, units = _unit_vectors(matrix, rows[some])
    has[rows[some][kept]] = True
    return Vectors(units, has)


def _unit_vectors(matrix: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> tuple[Mask, Matrix]:
    """Return the vectors scaled to length 1. A vector of zeros has no direction and is left out."""
    wide = matrix.astype(np.float64)
    largest = np.abs(wide).max(axis=1)
    bad = np.flatnonzero(~np.isfinite(largest))
    if len(bad):
        number = wide[bad[0]][~np.isfinite(wide[bad[0]])][0]
        raise BadVectorError(int(rows[bad[0]]), f"has {number} among its numbers")
    kept = largest > 0
    if not kept.all():
        wide, largest = wide[kept], largest[kept]
    wide /= largest[:, None]  # avoid overflow and underflow of squares
    wide /= np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return kept, wide.astype(np.float32)


def _shorten(value: Any) -> str:
    return repr(value)[:40]


def vector_column(matrix: Matrix, has: Mask | None = None) -> pa.FixedSizeListArray:
    """Return a matrix as a column; with `has`, rows where it is false are null."""
    size = matrix.shape[1]
    if has is None or has.all():
        return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), size)
    filled = np.zeros((len(has), size), np.float32)
    filled[has] = matrix
    values = pa.array(filled.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, size, mask=pa.array(~has))


def matrix_in(column: pa.ChunkedArray) -> Matrix:
    """Return the matrix in a column made by `vector_column`, without nulls."""
    size = column.type.list_size
    parts = [chunk.drop_null().flatten().to_numpy() for chunk in column.chunks]
    values = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return np.asarray(values, np.float32).reshape(-1, size)


@dataclass
class VectorBatch:
    """Consecutive documents: positions, and the unit vectors of those that have one."""

    positions: npt.NDArray[np.int64]
    has: Mask
    matrix: Matrix
    ids: list[str | None] | None = None
    places: pa.Table | None = None
    """The columns of `DOCUMENT_PLACE`, if vectors were computed from documents in other files."""

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
    has_document_places: bool = False

    def read(self) -> Iterator[VectorBatch]:
        found = self._read_parquet() if is_parquet(self.part.path) else self._read_lines()
        for batch in found:
            if len(batch.matrix):
                self.dimension = batch.matrix.shape[1]
            yield batch

    def _read_parquet(self) -> Iterator[VectorBatch]:
        names = [self.vector_field, *([self.id_field] if self.id_field else [])]
        names += DOCUMENT_PLACE if self.has_document_places else ()
        for start, table in read_tables(self.part, self.storage_options, names):
            positions = np.arange(start, start + table.num_rows)
            try:
                found = parse_vector_column(self._vectors(table), self.dimension)
            except BadVectorError as error:
                raise self._error(error, f"row {start + error.row}") from None
            ids = column_of(table, self.id_field) if self.id_field else None
            places = table.select(DOCUMENT_PLACE) if self.has_document_places else None
            yield VectorBatch(positions, found.has, found.matrix, _column_texts(ids), places)

    def _vectors(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the vector column. Fail without one: the file would be kept uncompared."""
        if self.vector_field in table.column_names:
            return table.column(self.vector_field)
        raise InputError(
            f"{self.part.path} has no column {self.vector_field!r}; "
            "leave the file out, or give its vectors that name"
        )

    def _read_lines(self) -> Iterator[VectorBatch]:
        for batch in read_lines(self.part, self.storage_options):
            yield self._parse_lines(batch)

    def _parse_lines(self, batch: LineBatch) -> VectorBatch:
        # Not 0: there a byte order mark would be looked for again.
        parsed = parse_lines(Lines(batch.data, 1, batch.too_long))
        numbers = [line.number for line in parsed.bad]
        positions, bad = np.delete(batch.positions, numbers), batch.positions[numbers]
        try:
            found = parse_vector_values(
                [record.get(self.vector_field) for record in parsed.records], self.dimension
            )
        except BadVectorError as error:
            raise self._error(error, f"byte {positions[error.row]}") from None
        ids = None
        if self.id_field:
            ids = [_text(record.get(self.id_field)) for record in parsed.records]
        rejected = [self._rejected(line, at) for line, at in zip(parsed.bad, bad, strict=True)]
        return VectorBatch(positions, found.has, found.matrix, ids, bad=bad, rejected=rejected)

    def _rejected(self, line: BadLine, position: int) -> Rejected:
        column = f" column {line.column}" if line.column else ""
        where = f"{self.part.path} byte {position}{column}"
        return Rejected(line.reason, where, payload=line.text)

    def _error(self, error: BadVectorError, place: str) -> InputError:
        return InputError(
            f"{self.part.path} {place}: the vector in {self.vector_field!r} {error.reason}; "
            "correct it, make it null, or remove the file"
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _column_texts(column: pa.ChunkedArray | None) -> list[str | None] | None:
    if column is None:
        return None
    try:
        return list(pc.cast(column, pa.string()).to_pylist())
    except pa.ArrowException:
        return [_text(value) for value in column.to_pylist()]
