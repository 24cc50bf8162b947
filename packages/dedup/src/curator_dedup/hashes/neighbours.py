"""Neighbours: pairs of hashes within a number of differing bits, among those that share a key."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from curator_dedup.hashes.distances import Words, distances, table_of_distances

Rows = npt.NDArray[np.int64]

_SMALL = 32
"""Groups up to this size are compared all together; larger ones one by one."""

_SQUARE = 2048
"""Number of rows and columns of a table of distances that fits in a processor's cache."""


def pairs_within(keys: Words, hashes: Words, threshold: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield, in batches, pairs of rows with the same key that differ by at most `threshold`."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(np.append(starts, len(ordered)))
    some = sizes > 1
    small = some & (sizes <= _SMALL)
    yield from _in_small(order, starts[small], sizes[small], hashes, threshold)
    for start, size in zip(starts[some & ~small], sizes[some & ~small], strict=True):
        rows = order[start : start + size]
        for ones, others in _in_large(hashes[rows], threshold):
            yield rows[ones], rows[others]


def _in_small(
    order: Rows, starts: Rows, sizes: Rows, hashes: Words, threshold: int
) -> Iterator[tuple[Rows, Rows]]:
    """Compare each row with the next one of its group, then with the second next, and so on."""
    ends = np.repeat(starts + sizes, sizes)
    inside = np.arange(len(ends)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts, sizes) + inside
    for step in range(1, _SMALL):
        has_partner = places + step < ends
        places, ends = places[has_partner], ends[has_partner]
        if not len(places):
            return
        ones, others = order[places], order[places + step]
        near = distances(hashes[ones], hashes[others]) <= threshold
        yield ones[near], others[near]


def _in_large(hashes: Words, threshold: int) -> Iterator[tuple[Rows, Rows]]:
    for top in range(0, len(hashes), _SQUARE):
        upper = hashes[top : top + _SQUARE]
        for left in range(top, len(hashes), _SQUARE):
            near = table_of_distances(upper, hashes[left : left + _SQUARE]) <= threshold
            ones, others = np.nonzero(np.triu(near, 1) if left == top else near)
            yield ones + top, others + left
