"""Bands: keys such that two hashes within the threshold always share at least one.

The bits are divided into d + k parts. Two hashes that differ in at most d bits have at least k
equal parts, so each choice of k parts gives a key, and no pair is missed. More parts per key make
fewer random matches but more keys; the best choice depends on the number of hashes.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from curator_dedup.hamming import bit_masks
from curator_dedup.hashing import STEP, U64Array, mixed

_KEY_COST = 2.0
"""Microseconds to write, sort and read a key."""

_PAIR_COST = 0.0015
"""Microseconds to compare 64 bits."""

_EFFECTIVE_BITS = 0.75
"""Hashes of real pictures have fewer effective bits than random ones: this share."""

MAX_KEYS = 128
"""Maximum number of keys per picture, because more would take too much space."""


@dataclass(frozen=True)
class Bands:
    """The keys made from hashes of `bits` bits, to find all pairs up to a threshold."""

    bits: int
    threshold: int
    parts_per_key: int = 1
    """Number of parts per key."""

    @property
    def parts(self) -> int:
        return min(self.threshold + self.parts_per_key, self.bits)

    @property
    def count(self) -> int:
        """Number of keys per hash."""
        return comb(self.parts, self.parts_per_key)

    @cached_property
    def masks(self) -> U64Array:
        """The bits of each key."""
        parts = np.array_split(np.arange(self.bits), self.parts)
        chosen = combinations(range(self.parts), self.parts_per_key)
        positions = [[int(bit) for part in group for bit in parts[part]] for group in chosen]
        return bit_masks(self.bits, positions)

    def keys(self, hashes: U64Array) -> U64Array:
        """Return the keys of each hash, in the order of `masks`; keys of different masks differ."""
        numbers = np.arange(1, self.count + 1, dtype=np.uint64) * STEP
        keys = np.broadcast_to(numbers, (len(hashes), self.count)).copy()
        for word in range(hashes.shape[1]):
            keys = mixed(keys ^ (hashes[:, None, word] & self.masks[None, :, word]))
        return keys

    def cost(self, hashes: int) -> float:
        """Estimate the microseconds per hash if there are this many hashes."""
        key_bits = self.bits * self.parts_per_key / self.parts * _EFFECTIVE_BITS
        pairs = hashes / 2**key_bits / 2
        return self.count * (_KEY_COST + pairs * _PAIR_COST * self.bits / 64)


def choose_bands(bits: int, threshold: int, hashes: int) -> Bands:
    """Return the cheapest bands for this number of hashes."""
    choices = [Bands(bits, threshold, parts_per_key) for parts_per_key in range(1, 5)]
    possible = [bands for bands in choices if bands.count <= MAX_KEYS] or choices[:1]
    return min(possible, key=lambda bands: bands.cost(hashes))
