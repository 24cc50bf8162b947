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
from curator_dedup.hashes.distances import Words, masks_of

_KEY_COST = 2.0
"""Microseconds to write, sort and read a key."""

_PAIR_COST = 0.0015
"""Microseconds to compare 64 bits."""

_EVEN = 0.75
"""Hashes of real pictures have fewer effective bits than random ones: this share."""

MOST_KEYS = 128
"""Maximum number of keys per picture, because more would take too much space."""


@dataclass(frozen=True)
class Bands:
    """The keys made from hashes of `bits` bits, to find all pairs up to a threshold."""

    bits: int
    threshold: int
    together: int = 1
    """Number of parts per key."""

    @property
    def parts(self) -> int:
        return min(self.threshold + self.together, self.bits)

    @property
    def count(self) -> int:
        """Number of keys per hash."""
        return comb(self.parts, self.together)

    @cached_property
    def masks(self) -> Words:
        """The bits of each key."""
        parts = np.array_split(np.arange(self.bits), self.parts)
        chosen = combinations(range(self.parts), self.together)
        places = [[int(bit) for part in group for bit in parts[part]] for group in chosen]
        return masks_of(self.bits, places)

    def keys(self, hashes: Words) -> Words:
        """Return the keys of each hash, in the order of `masks`; keys of different masks differ."""
        numbers = np.arange(1, self.count + 1, dtype=np.uint64) * _STEP
        keys = np.broadcast_to(numbers, (len(hashes), self.count)).copy()
        for word in range(hashes.shape[1]):
            keys = _stirred(keys ^ (hashes[:, None, word] & self.masks[None, :, word]))
        return keys

    def cost(self, hashes: int) -> float:
        """Estimate the microseconds per hash if there are this many hashes."""
        key_bits = self.bits * self.together / self.parts * _EVEN
        pairs = hashes / 2**key_bits / 2
        return self.count * (_KEY_COST + pairs * _PAIR_COST * self.bits / 64)


def bands_for(bits: int, threshold: int, hashes: int) -> Bands:
    """Return the cheapest bands for this number of hashes."""
    choices = [Bands(bits, threshold, together) for together in range(1, 5)]
    possible = [bands for bands in choices if bands.count <= MOST_KEYS] or choices[:1]
    return min(possible, key=lambda bands: bands.cost(hashes))


_STEP = np.uint64(0x9E3779B97F4A7C15)


def _stirred(numbers: Words) -> Words:
    """Apply the finalizer of SplitMix64: every output bit depends on every input bit."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))
