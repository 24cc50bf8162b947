"""Columns of the tables that the first pass writes for the later ones."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import InputError


def hash_column(hashes: npt.NDArray[np.uint8]) -> pa.Array:
    """Return a column of hashes of the same length, one per row of the array."""
    kind = pa.binary(hashes.shape[1])
    content = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(hashes), [None, content])


def priority_column(table: pa.Table, name: str | None) -> pa.Array:
    """Return the priorities, missing ones lowest; all are equal without a field."""
    if name is None:
        return pa.array(np.zeros(table.num_rows))
    values = table.column(name)
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise InputError(
            f"priority_field names {name!r}, which holds {values.type}; name a column of numbers"
        )
    numbers = values.cast(pa.float64()).fill_null(-np.inf).to_numpy()
    return pa.array(np.where(np.isnan(numbers), -np.inf, numbers))
