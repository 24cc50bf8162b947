"""Vector columns of tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def as_column(vectors: Sequence[Any]) -> pa.Array:
    return pa.array(list(vectors), pa.list_(pa.float32()))


def matrix_of(column: pa.ChunkedArray, name: str) -> "NDArray[np.float32]":
    """Return one row per picture; raise if vectors are missing or differ in length."""
    import numpy as np

    if not len(column):
        return np.zeros((0, 0), np.float32)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)):  # fmt: skip
        raise InputError(f"column {name!r} holds {kind}, but must hold lists of numbers")
    rows = column.to_pylist()
    lengths = {len(row) if row is not None else None for row in rows}
    if len(lengths) > 1 or lengths == {None}:
        raise InputError(f"column {name!r} must hold a vector of one length in each row")
    return np.array(rows, np.float32)
