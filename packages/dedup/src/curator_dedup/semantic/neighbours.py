"""Neighbours: for each row of a cluster the nearest of those in front of it, block by block."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from curator_dedup.semantic.arithmetic import BLOCK_ROWS, Arithmetic
from curator_dedup.semantic.vectors import Matrix

Indices = npt.NDArray[np.int64]


class Neighbours(NamedTuple):
    similarities: npt.NDArray[np.float32]
    """The largest cosine with a row in front; -2 where there is none."""

    places: Indices
    """The first row that has it; -1 where it is less than was asked for."""


def neighbours_of(
    rows: Matrix, arithmetic: Arithmetic, floor: float, block_rows: int = BLOCK_ROWS
) -> Neighbours:
    """Products of blocks of rows; never more than one block of them is held."""
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
    """Where it is better than what was found before; equal ones further on are not."""
    products, rows = found
    better = products > best
    best[better] = products[better]
    known = better & (rows >= 0)
    places[known] = rows[known] + first


def roots_of(parents: Indices) -> Indices:
    """For each row that at the end of its line of parents; a root has -1."""
    rows = np.arange(len(parents))
    roots = np.where(parents < 0, rows, parents)
    while True:
        further = roots[roots]
        if np.array_equal(further, roots):
            return roots
        roots = further
