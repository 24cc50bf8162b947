"""Neighbours: the nearest row before each row of a cluster, computed block by block."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from curator_dedup.semantic.arithmetic import BLOCK_ROWS, Arithmetic
from curator_dedup.semantic.vectors import Matrix

Indices = npt.NDArray[np.int64]


class Neighbours(NamedTuple):
    similarities: npt.NDArray[np.float32]
    """The largest cosine with an earlier row; -2 if there is none."""

    places: Indices
    """The first row with that cosine; -1 if it is below the floor."""


def neighbours_of(
    rows: Matrix, arithmetic: Arithmetic, floor: float, block_rows: int = BLOCK_ROWS
) -> Neighbours:
    """Multiply block by block, holding only one product of two blocks at a time."""
    best = np.full(len(rows), -2, np.float32)
    places = np.full(len(rows), -1, np.int64)
    for start in range(0, len(rows), block_rows):
        block = arithmetic.load(rows[start : start + block_rows])
        here = slice(start, start + block_rows)
        for first in range(0, start, block_rows):
            others = arithmetic.load(rows[first : first + block_rows])
            _take(best[here], places[here], arithmetic.best(others, block, floor), first)
        _take(best[here], places[here], arithmetic.best_before(block, floor), start)
    return Neighbours(best, places)


def _take(
    best: npt.NDArray[np.float32],
    places: Indices,
    found: tuple[Matrix, Indices],
    first: int,
) -> None:
    """Replace results that are improved on; for equal products the earlier row stays."""
    products, rows = found
    better = products > best
    best[better] = products[better]
    known = better & (rows >= 0)
    places[known] = rows[known] + first


def roots_of(parents: Indices) -> Indices:
    """Return the last ancestor of each row. A root has the parent -1."""
    rows = np.arange(len(parents))
    roots = np.where(parents < 0, rows, parents)
    while True:
        further = roots[roots]
        if np.array_equal(further, roots):
            return roots
        roots = further
