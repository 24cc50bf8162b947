"""Tables of ids: convert columns of 8 bytes to numbers and back."""

import numpy as np
import pyarrow as pa

from curator_dedup.mixing import Words


def keys_of(column: pa.ChunkedArray) -> Words:
    """Return 8-byte binary values as numbers; the number of a null is undefined."""
    parts = [_numbers(chunk) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros(0, np.uint64)])


def _numbers(chunk: pa.Array) -> Words:
    content = chunk.buffers()[1]
    if content is None or not len(chunk):
        return np.zeros(len(chunk), np.uint64)
    return np.frombuffer(content, np.uint64)[chunk.offset : chunk.offset + len(chunk)]


def numbers_column(numbers: Words, kind: pa.DataType) -> pa.Array:
    content = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(numbers), [None, content])
