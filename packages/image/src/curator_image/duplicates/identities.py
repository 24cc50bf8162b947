"""Identities: an id of 64 bits for each picture, which follows from its source and its key.

Of a billion pictures two have the same id with a probability of 3 %.
"""

import re
from hashlib import blake2b
from itertools import repeat

import numpy as np
import pyarrow as pa

from curator_image.batches import KEY, SOURCE, ImageBatch
from curator_image.duplicates.distances import Words

ID = pa.binary(8)

_NUMBER = re.compile(r"\d+$")


def ids_of(batch: ImageBatch) -> Words:
    raw = b"".join(_digest(source, key) for source, key in names_of(batch))
    return np.frombuffer(raw, np.uint64)


def names_of(batch: ImageBatch) -> list[tuple[str, str]]:
    """Where each picture is from, and its key there."""
    keys = batch.data.column(KEY).to_pylist()
    sources = batch.data.column(SOURCE).to_pylist() if SOURCE in batch.columns() else repeat(None)
    return [(source or "", str(key)) for source, key in zip(sources, keys, strict=False)]


def _digest(source: str, key: str) -> bytes:
    name = f"{source}\n{key}".encode("utf-8", "surrogatepass")
    return blake2b(name, digest_size=8).digest()


def in_order(source: str, key: str) -> tuple[str, int, str]:
    """What puts pictures in the order in which they stand: `byte 512` before `byte 2048`."""
    match = _NUMBER.search(source)
    if match is None:
        return source, 0, key
    return source[: match.start()], int(match[0]), key


def id_column(ids: Words) -> pa.Array:
    content = pa.py_buffer(np.ascontiguousarray(ids))
    return pa.FixedSizeBinaryArray.from_buffers(ID, len(ids), [None, content])


def ids_in(column: pa.ChunkedArray | pa.Array) -> Words:
    """A column of ids as numbers."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays([*whole.chunks, pa.array([], ID)])
    if not len(whole):
        return np.zeros(0, np.uint64)
    content = np.frombuffer(whole.buffers()[1], np.uint64)
    return content[whole.offset : whole.offset + len(whole)]
