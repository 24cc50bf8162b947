"""Vectors: columns of numbers as matrices, validated and scaled to length 1."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import CuratorError

Matrix: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]


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


def vectors_of_column(column: pa.ChunkedArray, dimension: int | None) -> Vectors:
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
    return _united(values, lengths, rows, len(array), dimension)


def _refuse_other_types(kind: pa.DataType) -> None:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    numbers = (pa.types.is_floating, pa.types.is_integer)
    if not any(check(kind) for check in lists) or not any(
        check(kind.value_type) for check in numbers
    ):
        raise BadVectorError(0, f"is {kind}, not a list of numbers")


def vectors_of_values(values: list[Any], dimension: int | None) -> Vectors:
    """Read vectors from lists as parsed from JSON."""
    rows = [row for row, value in enumerate(values) if value is not None]
    lengths = np.zeros(len(rows), np.int64)
    for place, row in enumerate(rows):
        if not isinstance(values[row], list):
            raise BadVectorError(row, f"is {_shown(values[row])}, not a list of numbers")
        lengths[place] = len(values[row])
    flat = [number for row in rows for number in values[row]]
    if set(map(type, flat)) <= {float, int}:
        numbers = np.array(flat, np.float64)
        return _united(numbers, lengths, np.array(rows, np.int64), len(values), dimension)
    for row in rows:
        wrong = [one for one in values[row] if type(one) not in (float, int)]
        if wrong:
            raise BadVectorError(row, f"has {_shown(wrong[0])} among its numbers")
    raise AssertionError("every value was a number after all")


def _united(
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
    wanted = int(lengths[some[0]]) if dimension is None else dimension
    other = some[lengths[some] != wanted]
    if len(other):
        raise BadVectorError(
            int(rows[other[0]]), f"has {lengths[other[0]]} numbers, but others have {wanted}"
        )
    matrix = values.reshape(-1, wanted)
    kept, units = _units(matrix, rows[some])
    has[rows[some][kept]] = True
    return Vectors(units, has)


def _units(matrix: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> tuple[Mask, Matrix]:
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


def _shown(value: Any) -> str:
    return repr(value)[:40]


def vector_column(matrix: Matrix, has: Mask | None = None) -> pa.FixedSizeListArray:
    """Return a matrix as a column; with `has`, rows where it is false are null."""
    size = matrix.shape[1]
    if has is None or has.all():
        return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), size)
    spread = np.zeros((len(has), size), np.float32)
    spread[has] = matrix
    values = pa.array(spread.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, size, mask=pa.array(~has))


def matrix_of(column: pa.ChunkedArray) -> Matrix:
    """Return the matrix in a column made by `vector_column`, without nulls."""
    size = column.type.list_size
    parts = [chunk.drop_null().flatten().to_numpy() for chunk in column.chunks]
    values = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return np.asarray(values, np.float32).reshape(-1, size)
