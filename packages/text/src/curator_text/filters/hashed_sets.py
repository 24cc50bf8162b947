"""Hashed sets: millions of names in eight bytes each."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc


class HashedSet:
    """A set of names that stores 64-bit hashes only.

    With 10 million names, about one lookup in a million million is wrong.
    """

    def __init__(self, names: Iterable[str]) -> None:
        hashes = array("Q", map(_hash, names))
        column = pa.Array.from_buffers(pa.uint64(), len(hashes), [None, pa.py_buffer(hashes)])
        self._sorted = column.take(pc.array_sort_indices(column))
        # A Python view of the same memory: a search creates objects only for the values it
        # compares.
        self._view = memoryview(self._sorted.buffers()[1]).cast("Q")[: len(hashes)]

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, name: str) -> bool:
        wanted = _hash(name)
        place = bisect_left(self._view, wanted)
        return place < len(self._view) and self._view[place] == wanted


def _hash(name: str) -> int:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
