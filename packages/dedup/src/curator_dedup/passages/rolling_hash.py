"""Hashes of all runs of values, at the cost of a few cumulative sums."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from curator_dedup.hashing import STEP, U64Array, mixed
from curator_dedup.passes.group import Indices

_BASES = (0x9E6C63D0676A9A99, 0xD1342543DE82EF95)
"""Odd numbers, so that they have an inverse."""

_STEP = 1 << 16
"""Number of values per step, which fit in a processor's cache."""


def hashes_of_stretches(values: npt.NDArray[Any], starts: Indices, ends: Indices) -> U64Array:
    """Return a hash of `values[start:end]` for each pair. Pairs are sorted and do not overlap."""
    hashes = np.empty(len(starts), np.uint64)
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(ends, starts[first] + _STEP, side="right"))
        here = slice(first, max(first + 1, last))
        begin, end = starts[first], ends[here.stop - 1]
        hashes[here] = _hashed(values[begin:end], starts[here] - begin, ends[here] - begin)
        first = here.stop
    return hashes


def _hashed(values: npt.NDArray[Any], starts: Indices, ends: Indices) -> U64Array:
    powers, inverses = _powers(0, len(values))
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum((values.astype(np.uint64) + np.uint64(1)) * powers[: len(values)], out=sums[1:])
    found = (sums[ends] - sums[starts]) * inverses[starts]
    return mixed(found + (ends - starts).astype(np.uint64) * STEP)


def hashes_of_windows(values: U64Array, size: int, lane: int = 0) -> U64Array:
    """Return a hash of each run of `size` values."""
    count = max(0, len(values) - size + 1)
    hashes = np.empty(count, np.uint64)
    step = max(_STEP, size)
    for start in range(0, count, step):
        chunk = values[start : start + step + size - 1]
        powers, inverses = _powers(lane, len(chunk))
        sums = np.zeros(len(chunk) + 1, np.uint64)
        np.cumsum(chunk * powers[: len(chunk)], out=sums[1:])
        found = (sums[size:] - sums[:-size]) * inverses[: len(chunk) - size + 1]
        hashes[start : start + len(found)] = mixed(found)
    return hashes


def _powers(lane: int, count: int) -> tuple[U64Array, U64Array]:
    """Return at least `count` powers of a base and of its inverse, modulo 2**64."""
    return _powers_up_to(lane, max(1 << 10, 1 << (count - 1).bit_length()) if count else 1 << 10)


@cache
def _powers_up_to(lane: int, count: int) -> tuple[U64Array, U64Array]:
    base = _BASES[lane]
    found = []
    for factor in (base, pow(base, -1, 1 << 64)):
        column = np.full(count, factor, np.uint64)
        column[0] = 1
        found.append(np.cumprod(column))
    return found[0], found[1]


def sliding_minimum(values: U64Array, size: int) -> U64Array:
    """Return the minimum of each run of `size` values."""
    count = len(values) - size + 1
    if count <= 0:
        return values[:0]
    padded = np.full(-(-len(values) // size) * size, np.iinfo(np.uint64).max, np.uint64)
    padded[: len(values)] = values
    blocks = padded.reshape(-1, size)
    prefix = np.minimum.accumulate(blocks, axis=1).reshape(-1)
    suffix = np.minimum.accumulate(blocks[:, ::-1], axis=1)[:, ::-1].reshape(-1)
    return np.minimum(suffix[:count], prefix[size - 1 : size - 1 + count])
