"""Sets: the shingles of a document as sorted, distinct 32-bit numbers.

Two documents of 500 words share a number by chance in 1 of 20,000 cases, which changes their
similarity by a thousandth.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.signatures import shingles_of

SHINGLES = "shingles"

Set: TypeAlias = npt.NDArray[np.uint32]


def sets_of(shingling: Shingling, texts: Sequence[str]) -> list[Set]:
    if not texts:
        return []
    shingles, counts = shingles_of(shingling, texts)
    # Sort all at once, with the number of the text in the upper half.
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64) << np.uint64(32), counts)
    whole = np.sort(owners | shingles)
    fresh = np.ones(len(whole), np.bool_)
    fresh[1:] = whole[1:] != whole[:-1]
    whole = whole[fresh]
    edges = np.searchsorted(whole >> np.uint64(32), np.arange(1, len(texts)))
    return np.split(whole.astype(np.uint32), edges)


def digest_of(numbers: Set) -> int:
    """Return a 64-bit digest of a set."""
    return int(xxhash.xxh3_64_intdigest(numbers.tobytes()))


def sets_column(sets: Sequence[Set | None]) -> pa.Array:
    """Return a column of sets, with an empty list for a missing one."""
    lengths = [0 if one is None else len(one) for one in sets]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    values = [one for one in sets if one is not None]
    flat = pa.array(np.concatenate([*values, np.zeros(0, np.uint32)]))
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat)


def sets_in(column: pa.ChunkedArray) -> list[Set]:
    sets: list[Set] = []
    for chunk in column.chunks:
        edges = chunk.offsets.to_numpy()
        values = chunk.values.to_numpy()
        sets += [values[start:end] for start, end in pairwise(edges)]
    return sets


def jaccard(one: Set, other: Set) -> float:
    """Return the Jaccard similarity of two sets; 0 if either is empty."""
    if not len(one) or not len(other):
        return 0.0
    together = np.concatenate((one, other))
    together.sort(kind="stable")
    shared = int(np.count_nonzero(together[1:] == together[:-1]))
    return shared / (len(together) - shared)
