"""Mixing: hash functions for 64-bit numbers, and sorted distinct values."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]

MIX_A, MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: Words) -> Words:
    """Return a hash of each number: each input bit changes about half of the output bits, and
    different numbers have different hashes."""
    values = values ^ (values >> np.uint64(30))
    values *= MIX_A
    values ^= values >> np.uint64(27)
    values *= MIX_B
    values ^= values >> np.uint64(31)
    return values


def different(values: Words) -> Words:
    """Return the sorted distinct values. `np.unique` takes a hundred times as long for millions of
    values because it builds a hash table first."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]
