"""Bloom filters over 128-bit hashes, with a bounded rate of false positives."""

from math import ceil, log, log2

import numpy as np
import numpy.typing as npt

from curator_dedup.mixing import Words

_ONE = np.uint8(1)


class BloomFilter:
    """A set of about `capacity` 128-bit hashes with false-positive rate `rate`."""

    def __init__(self, capacity: int, rate: float) -> None:
        self.capacity = capacity
        self.count = 0
        size = ceil(-capacity * log(rate) / log(2) ** 2)
        self._hashes = max(1, ceil(-log2(rate)))
        self._bits = np.zeros(size // 8 + 1, np.uint8)

    @property
    def num_bytes(self) -> int:
        return int(self._bits.nbytes)

    def has(self, words: Words) -> npt.NDArray[np.bool_]:
        places = self._places(words)
        found = (self._bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8)) & 1
        return np.asarray(found.all(axis=1))

    def add(self, words: Words) -> None:
        places = self._places(words).reshape(-1)
        bits = np.left_shift(_ONE, (places & np.uint64(7)).astype(np.uint8))
        np.bitwise_or.at(self._bits, places >> np.uint64(3), bits)
        self.count += len(words)

    def _places(self, words: Words) -> Words:
        steps = np.arange(self._hashes, dtype=np.uint64)
        turned = words[:, :1] + steps * (words[:, 1:] | np.uint64(1))
        return np.asarray(turned % np.uint64(len(self._bits) * 8))


class GrowingFilter:
    """A Bloom filter without a fixed capacity.

    When a filter is full, one is added that is twice as large and has half the error rate. The
    combined rate stays below `rate` for any number of hashes.
    """

    def __init__(self, capacity: int, rate: float) -> None:
        self._rate = rate / 2
        self._filters = [BloomFilter(capacity, self._rate)]

    @property
    def num_bytes(self) -> int:
        return sum(one.num_bytes for one in self._filters)

    def take(self, words: Words) -> npt.NDArray[np.bool_]:
        """Add hashes and return which are new. Of equal hashes only the first is new."""
        firsts = np.sort(np.unique(words, axis=0, return_index=True)[1])
        seen = np.zeros(len(firsts), np.bool_)
        for one in self._filters:
            seen |= one.has(words[firsts])
        fresh = firsts[~seen]
        self._add(words[fresh])
        is_new = np.zeros(len(words), np.bool_)
        is_new[fresh] = True
        return is_new

    def _add(self, words: Words) -> None:
        while len(words):
            last = self._filters[-1]
            room = last.capacity - last.count
            last.add(words[:room])
            words = words[room:]
            if len(words):
                self._rate /= 2
                self._filters.append(BloomFilter(2 * last.capacity, self._rate))
