"""Group rows: runs of equal rows, groups of equal hashes, and clusters of linked documents."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from curator_dedup.hashing import U64Array

Indices: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Nodes: TypeAlias = npt.NDArray[np.integer]

_SMALL = 1 << 31
"""Up to this many nodes, 32-bit numbers suffice and take half the time."""


def run_starts(*columns: npt.NDArray[Any]) -> Mask:
    """Return which rows differ from the row before them in any column; the first row always does.

    After sorting by the columns, these are the first rows of all groups of equal rows.
    """
    starts = np.zeros(len(columns[0]), np.bool_)
    starts[:1] = True
    for column in columns:
        changes = column[1:] != column[:-1]
        starts[1:] |= changes if column.ndim == 1 else changes.any(axis=1)
    return starts


def run_edges(column: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """Return where each run of equal values begins and ends."""
    starts = np.flatnonzero(run_starts(column)).tolist()
    return list(pairwise([*starts, len(column)]))


def sorted_unique(values: U64Array) -> U64Array:
    """Return the sorted distinct values. `np.unique` takes a hundred times as long for millions of
    values because it builds a hash table first."""
    ordered = np.sort(values)
    return ordered[run_starts(ordered)]


def sorted_unique_pairs(left: U64Array, right: U64Array) -> tuple[U64Array, U64Array]:
    """Return the distinct pairs, sorted by the first numbers, then by the second ones."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    starts = run_starts(left, right)
    return left[starts], right[starts]


class Groups(NamedTuple):
    """Rows that have duplicates: group after group, the best of each first."""

    rows: Indices
    is_first: Mask
    sizes: Indices
    """For each row, the size of its group."""


def group_equal(hashes: U64Array, sort_keys: Sequence[npt.NDArray[Any]]) -> Groups:
    """Group rows with equal 128-bit hashes, leaving out the others.

    `sort_keys` say which row of a group is first; the last key has precedence.
    """
    rows = rows_with_repeats(hashes[:, 0])
    keys = [key[rows] for key in sort_keys]
    rows = rows[np.lexsort([*keys, hashes[rows, 1], hashes[rows, 0]])]
    is_first = run_starts(hashes[rows])
    groups = np.cumsum(is_first) - 1
    sizes = np.bincount(groups)[groups] if len(rows) else rows
    has_duplicates = sizes > 1
    return Groups(rows[has_duplicates], is_first[has_duplicates], sizes[has_duplicates])


def rows_with_repeats(numbers: U64Array) -> Indices:
    """Return the rows whose number occurs more than once.

    Most hashes are unique, which half of the hash already shows, so those rows are never sorted by
    the rest of it.
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    same = ordered[1:] == ordered[:-1]
    is_repeated = np.zeros(len(numbers), np.bool_)
    is_repeated[1:] |= same
    is_repeated[:-1] |= same
    return order[is_repeated]


def find_clusters(sources: U64Array, targets: U64Array) -> tuple[U64Array, U64Array]:
    """Return all linked documents in order, and the smallest document of each one's cluster."""
    nodes, places = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    return nodes, nodes[
        connected_components(len(nodes), places[: len(sources)], places[len(sources) :])
    ]


def connected_components(count: int, sources: Nodes, targets: Nodes) -> Nodes:
    """Return for each node (numbered from 0) the smallest node of its component.

    Each root is attached to a smaller root that shares an edge with it, until no edge joins two
    roots. If several edges compete for a root, any may win; the others are handled in the next
    round. Operations on whole arrays are as fast as a compiled union-find that visits one edge at
    a time.
    """
    kind = np.int32 if count < _SMALL else np.int64
    parents: Nodes = np.arange(count, dtype=kind)
    left, right = sources.astype(kind), targets.astype(kind)
    while len(left):
        parents[np.maximum(left, right)] = np.minimum(left, right)
        parents = find_roots(parents)
        left, right = parents[left], parents[right]
        apart = np.flatnonzero(left != right)
        left, right = left[apart], right[apart]
    return parents


def find_roots(parents: Nodes) -> Nodes:
    """Return the last ancestor of each row, where a root is its own parent."""
    while True:
        ancestors = parents[parents]
        if np.array_equal(ancestors, parents):
            return parents
        parents = ancestors
