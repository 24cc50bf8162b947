"""Neighbours: pairs of hashes that differ in at most so many bits, all in memory."""

from collections.abc import Iterator

import numpy as np
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.neighbours import Rows, pairs_within

from curator_image.duplicates.bands import bands_for


def near_pairs(hashes: Words, threshold: int) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of rows that differ in at most so many bits, in pieces; each pair may come twice.

    Of equal rows, all are paired with the first, and only the first with others.
    """
    bands = bands_for(64 * hashes.shape[1], threshold, len(hashes))
    firsts, which = _distinct(hashes)
    yield _equal_to_first(firsts, which)
    some = hashes[firsts]
    keys = bands.keys(some)
    for place in range(bands.count):
        for ones, others in pairs_within(keys[:, place], some, threshold):
            yield firsts[ones], firsts[others]


def _distinct(hashes: Words) -> tuple[Rows, Rows]:
    """The first row of each value, and for each row the place of its value among them."""
    _, firsts, which = np.unique(hashes, axis=0, return_index=True, return_inverse=True)
    return firsts, which.reshape(-1)


def _equal_to_first(firsts: Rows, which: Rows) -> tuple[Rows, Rows]:
    leaders = firsts[which]
    later = np.flatnonzero(leaders != np.arange(len(which)))
    return leaders[later], later
