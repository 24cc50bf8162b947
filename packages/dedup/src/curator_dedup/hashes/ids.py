"""Ids: 64-bit numbers that identify rows in intermediate files.

Among a billion rows, the probability that two share an id is 3 %.
"""

import numpy as np
import pyarrow as pa

from curator_dedup.hashes.distances import Words

ID = pa.binary(8)


def id_column(ids: Words) -> pa.Array:
    content = pa.py_buffer(np.ascontiguousarray(ids))
    return pa.FixedSizeBinaryArray.from_buffers(ID, len(ids), [None, content])


def ids_in(column: pa.ChunkedArray | pa.Array) -> Words:
    """Return a column of ids as numbers."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays([*whole.chunks, pa.array([], ID)])
    if not len(whole):
        return np.zeros(0, np.uint64)
    content = np.frombuffer(whole.buffers()[1], np.uint64)
    return content[whole.offset : whole.offset + len(whole)]
