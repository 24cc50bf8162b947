"""Columns of fixed-size binary values (ids, keys, hashes) as arrays of numbers, and back."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import InputError

from curator_dedup.hashing import U64Array

ID = pa.binary(8)
"""Type of document ids and of keys."""

DIGEST = pa.binary(16)
"""Type of 128-bit hashes."""

_WORD = 8


def binary_column(values: npt.NDArray[Any]) -> pa.Array:
    """Return a column with the bytes of each number, or of each row of numbers."""
    width = values.itemsize * (1 if values.ndim == 1 else values.shape[1])
    content = pa.py_buffer(np.ascontiguousarray(values))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(values), [None, content])


def numbers_in(column: pa.ChunkedArray | pa.Array) -> U64Array:
    """Return 8-byte values as numbers; the number of a null is undefined."""
    return words_in(column).reshape(-1)


def words_in(column: pa.ChunkedArray | pa.Array) -> U64Array:
    """Return binary values, whose size is a multiple of 8 bytes, as rows of 64-bit numbers."""
    kind = column.type
    if not pa.types.is_fixed_size_binary(kind) or kind.byte_width % _WORD:
        raise InputError(
            f"hashes must be binary values of 8, 16 or 32 bytes, but the column has type {kind}"
        )
    width = kind.byte_width // _WORD
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [_chunk_words(chunk, width) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([*parts, np.zeros((0, width), np.uint64)])


def _chunk_words(chunk: pa.Array, width: int) -> U64Array:
    content = chunk.buffers()[1]
    if content is None:  # all values are null
        return np.zeros((len(chunk), width), np.uint64)
    words = np.frombuffer(
        content, np.uint64, count=len(chunk) * width, offset=chunk.offset * width * _WORD
    )
    return words.reshape(-1, width)


def coded_column(codes: npt.NDArray[Any], values: list[str]) -> pa.DictionaryArray:
    """Return a dictionary column: each code is an index into the values."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values))


def constant_column(value: str, count: int) -> pa.DictionaryArray:
    """Return a dictionary column with the same value in all rows."""
    return coded_column(np.zeros(count, np.int32), [value])
