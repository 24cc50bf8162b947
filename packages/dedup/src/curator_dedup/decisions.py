"""Decisions: which document of a group is kept, independent of the order of arrival."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Keep: TypeAlias = Literal["one", "none", "mark"]
"""Which duplicates to keep: the best of each group, none, or all of them, marked."""

Indices: TypeAlias = npt.NDArray[np.int64]


class Groups(NamedTuple):
    """Rows that have duplicates: group after group, the best of each first."""

    rows: Indices
    is_first: npt.NDArray[np.bool_]
    sizes: Indices
    """For each row, the size of its group."""


def words_of(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.uint64]:
    """Return 16-byte digests as two numbers each."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not len(whole):
        return np.zeros((0, 2), np.uint64)
    content = np.frombuffer(whole.buffers()[1], np.uint64)
    return content.reshape(-1, 2)[whole.offset : whole.offset + len(whole)]


def path_ranks(column: pa.ChunkedArray) -> Indices:
    """Return for each row the rank of its file among the sorted paths."""
    coded = column.unify_dictionaries().combine_chunks()
    paths = coded.dictionary.to_pylist()
    ranks = np.empty(len(paths), np.int64)
    ranks[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
    return np.asarray(ranks[coded.indices.to_numpy(zero_copy_only=False)])


def groups_of(words: npt.NDArray[np.uint64], orders: Sequence[npt.NDArray[Any]]) -> Groups:
    """Group rows with equal digests.

    `orders` are sort keys that say which row is first; the last key has precedence. Most rows are
    unique, which half of the digest already shows, so they are never sorted by the rest.
    """
    rows = _repeated(words[:, 0])
    keys = [order[rows] for order in orders]
    rows = rows[np.lexsort([*keys, words[rows, 1], words[rows, 0]])]
    if not len(rows):
        return Groups(rows, np.zeros(0, np.bool_), rows)
    differs = np.any(words[rows[1:]] != words[rows[:-1]], axis=1)
    is_first = np.concatenate((np.ones(1, np.bool_), differs))
    groups = np.cumsum(is_first) - 1
    sizes = np.bincount(groups)[groups]
    several = sizes > 1
    return Groups(rows[several], is_first[several], sizes[several])


def _repeated(numbers: npt.NDArray[np.uint64]) -> Indices:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    same = ordered[1:] == ordered[:-1]
    is_repeated = np.zeros(len(numbers), np.bool_)
    is_repeated[1:] |= same
    is_repeated[:-1] |= same
    return order[is_repeated]
