"""Bands: keys of which two hashes share at least one whenever they differ in few enough bits.

The bits are divided into parts. Two hashes that differ in at most d bits have at least k equal
parts of d + k, so each choice of k parts gives a key, and no pair is missed. More parts to a key
make fewer chance meetings but more keys; what is cheapest depends on how many hashes there are.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from curator_dedup.hashes.distances import Words, masks_of

_KEY_COST = 2.0
"""Microseconds that a key takes to be written, sorted and read."""

_PAIR_COST = 0.0015
"""Microseconds for one comparison of 64 bits."""

_EVEN = 0.75
"""Bits of a hash of real pictures tell less than bits of chance would."""

MOST_KEYS = 128
"""More for each picture would take more room than the pictures' hashes are worth."""


@dataclass(frozen=True)
class Bands:
    """How keys are made of hashes of so many bits, to find all pairs up to a threshold."""

    bits: int
    threshold: int
    together: int = 1
    """How many parts make a key."""

    @property
    def parts(self) -> int:
        return min(self.threshold + self.together, self.bits)

    @property
    def count(self) -> int:
        """How many keys each hash has."""
        return comb(self.parts, self.together)

    @cached_property
    def masks(self) -> Words:
        """The bits of each key."""
        parts = np.array_split(np.arange(self.bits), self.parts)
        chosen = combinations(range(self.parts), self.together)
        places = [[int(bit) for part in group for bit in parts[part]] for group in chosen]
        return masks_of(self.bits, places)

    def keys(self, hashes: Words) -> Words:
        """The keys of each hash, in the order of `masks`; those of different masks differ."""
        numbers = np.arange(1, self.count + 1, dtype=np.uint64) * _STEP
        keys = np.broadcast_to(numbers, (len(hashes), self.count)).copy()
        for word in range(hashes.shape[1]):
            keys = _stirred(keys ^ (hashes[:, None, word] & self.masks[None, :, word]))
        return keys

    def cost(self, hashes: int) -> float:
        """About how many microseconds each hash takes among so many."""
        key_bits = self.bits * self.together / self.parts * _EVEN
        pairs = hashes / 2**key_bits / 2
        return self.count * (_KEY_COST + pairs * _PAIR_COST * self.bits / 64)


def bands_for(bits: int, threshold: int, hashes: int) -> Bands:
    """The cheapest bands for so many hashes."""
    choices = [Bands(bits, threshold, together) for together in range(1, 5)]
    possible = [bands for bands in choices if bands.count <= MOST_KEYS] or choices[:1]
    return min(possible, key=lambda bands: bands.cost(hashes))


_STEP = np.uint64(0x9E3779B97F4A7C15)


def _stirred(numbers: Words) -> Words:
    """The end of SplitMix64: every bit depends on every other."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))
