"""Permutations: numbers derived from a seed, and the signatures that they produce.

Each permutation orders all shingles differently; the first shingle of a document in that order is
one minhash. The probability that two documents share it is their Jaccard similarity.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from curator_dedup.mixing import STEP, Words, mixed

Numbers = npt.NDArray[np.uint32]

_SHINGLES = 1024
"""Number of shingles per step: all of their minhashes fit in a core's cache."""


@dataclass(frozen=True)
class Permutations:
    """The permutations for `bands` bands of `rows` minhashes each."""

    bands: int
    rows: int
    seed: int
    factors: Numbers = field(init=False, repr=False)
    shifts: Numbers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        count = 2 * self.bands * self.rows
        with np.errstate(over="ignore"):
            drawn = mixed(np.uint64(self.seed) * STEP + STEP * np.arange(1, count + 1, dtype="u8"))
        halves = (drawn >> np.uint64(32)).astype(np.uint32).reshape(2, -1)
        object.__setattr__(self, "factors", halves[0] | np.uint32(1))
        object.__setattr__(self, "shifts", halves[1].copy())

    def minhashes(self, shingles: Words, counts: npt.NDArray[np.int64]) -> Numbers:
        """Return the minhashes of documents; `counts` are their numbers of shingles, at least 1."""
        points = (shingles >> np.uint64(32)).astype(np.uint32)
        found = np.full((len(counts), len(self.factors)), 0xFFFFFFFF, np.uint32)
        ends = np.cumsum(counts)
        for start in range(0, len(points), _SHINGLES):
            stop = min(start + _SHINGLES, len(points))
            first = int(np.searchsorted(ends, start, "right"))
            last = int(np.searchsorted(ends, stop - 1, "right"))
            borders = np.concatenate(([0], ends[first:last] - start))
            values = points[start:stop, None] * self.factors
            values += self.shifts
            here = found[first : last + 1]
            np.minimum(here, np.minimum.reduceat(values, borders, axis=0), out=here)
        return found

    def keys(self, minhashes: Numbers) -> Words:
        """Return a number for each document and band that represents the minhashes of the band."""
        by_row = minhashes.reshape(len(minhashes), self.bands, self.rows).astype(np.uint64)
        keys = np.broadcast_to(np.arange(1, self.bands + 1, dtype=np.uint64), by_row.shape[:2])
        for row in range(self.rows):
            keys = mixed((keys ^ by_row[:, :, row]) * STEP)
        return keys
