"""Distances: the number of bits in which hashes differ. Hashes are rows of 64-bit words here."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import InputError

Words = npt.NDArray[np.uint64]

_WORD = 8


def words_of(column: pa.ChunkedArray | pa.Array) -> Words:
    """Return fixed-size binary values, whose size is a multiple of 8 bytes, as rows of words."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    kind = whole.type
    if not pa.types.is_fixed_size_binary(kind) or kind.byte_width % _WORD:
        raise InputError(f"hashes are binary of 8, 16 or 32 bytes, but here is a column of {kind}")
    width = kind.byte_width // _WORD
    if not len(whole):
        return np.zeros((0, width), np.uint64)
    content = np.frombuffer(whole.buffers()[1], np.uint64).reshape(-1, width)
    return content[whole.offset : whole.offset + len(whole)]


def words_from_bytes(hashes: npt.NDArray[np.uint8]) -> Words:
    return np.ascontiguousarray(hashes).view(np.uint64)


def distances(ones: Words, others: Words) -> npt.NDArray[np.uint16]:
    """Return the distances of corresponding rows, broadcasting all axes but the last."""
    return np.asarray(np.bitwise_count(ones ^ others).sum(axis=-1, dtype=np.uint16))


def table_of_distances(ones: Words, others: Words) -> npt.NDArray[np.uint16]:
    """Return the distance of each row of one to each row of the other."""
    total = np.zeros((len(ones), len(others)), np.uint16)
    for word in range(ones.shape[1]):
        total += np.bitwise_count(ones[:, word, None] ^ others[None, :, word])
    return total


def masks_of(bits: int, places: Sequence[Sequence[int]]) -> Words:
    """Return words with the bits of each list set; bit 0 is the highest of the first byte."""
    flags = np.zeros((len(places), bits), np.uint8)
    for row, chosen in enumerate(places):
        flags[row, list(chosen)] = 1
    return words_from_bytes(np.packbits(flags, axis=1))
