"""Centers: mini-batch k-means on a sample of unit vectors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from curator_dedup.semantic.arithmetic import Arithmetic, nearest
from curator_dedup.semantic.vectors import Matrix

Init: TypeAlias = Literal["k-means++", "random"]

_POOL = 3
"""The first centers are chosen from this many times as many rows."""


@dataclass
class MiniBatchKMeans:
    """Moves each center towards its nearest rows, by less the more rows it has seen.

    The same rows in the same order, with the same seed, give the same centers.
    """

    n_clusters: int
    init: Init = "k-means++"
    max_iter: int = 20
    tol: float = 1e-4
    seed: int = 42

    def centers(self, rows: Matrix, arithmetic: Arithmetic) -> Matrix:
        """Return `n_clusters` centers, or fewer if there are fewer different rows."""
        random = np.random.default_rng(self.seed)
        pool = rows[random.permutation(len(rows))[: max(_POOL * self.n_clusters, 1000)]]
        choose = _spread if self.init == "k-means++" else _first_different
        centers = choose(pool, self.n_clusters, random)
        if len(centers) < self.n_clusters:
            centers = choose(rows, self.n_clusters, random)
        counts = np.zeros(len(centers), np.int64)
        for _ in range(self.max_iter):
            before = centers.copy()
            seen = np.zeros(len(centers), np.int64)
            worst = _Worst(len(centers))
            for batch in self._batches(rows, random):
                labels, products = _labels(batch, centers, arithmetic)
                worst.add(batch, products)
                seen += _move(centers, counts, batch, labels)
            _refill(centers, seen, worst.rows)
            if float(np.mean(np.sum((centers - before) ** 2, axis=1))) < self.tol:
                break
        return centers

    def _batches(self, rows: Matrix, random: np.random.Generator) -> Iterator[Matrix]:
        size = max(4096, 2 * self.n_clusters)
        order = random.permutation(len(rows))
        for start in range(0, len(rows), size):
            yield rows[order[start : start + size]]


Choosing: TypeAlias = Callable[[Matrix, int, np.random.Generator], Matrix]


def _first_different(rows: Matrix, number: int, random: np.random.Generator) -> Matrix:
    _, firsts = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(firsts)[:number]].copy()


def _spread(rows: Matrix, number: int, random: np.random.Generator) -> Matrix:
    """Choose rows one by one, with a probability that grows with the distance to those chosen."""
    chosen = [int(random.integers(len(rows)))]
    far = np.maximum(1 - rows @ rows[chosen[0]], 0)
    far[chosen[0]] = 0
    while len(chosen) < number:
        sums = np.cumsum(far, dtype=np.float64)
        if sums[-1] <= 1e-6 * len(rows):  # all remaining rows equal chosen ones
            break
        place = int(np.searchsorted(sums, random.random() * sums[-1], side="right"))
        chosen.append(min(place, len(rows) - 1))
        far = np.minimum(far, np.maximum(1 - rows @ rows[chosen[-1]], 0))
        far[chosen[-1]] = 0
    return rows[chosen].copy()


def _labels(
    batch: Matrix, centers: Matrix, arithmetic: Arithmetic
) -> tuple[npt.NDArray[np.int64], Matrix]:
    products, labels = nearest(arithmetic, arithmetic.load(centers), batch)
    return labels, products


def _move(
    centers: Matrix,
    counts: npt.NDArray[np.int64],
    batch: Matrix,
    labels: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Move the centers in place; return the number of rows assigned to each."""
    order = np.argsort(labels, kind="stable")
    present, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(batch[order].astype(np.float64), starts, axis=0)
    given = np.bincount(labels, minlength=len(centers))
    counts += given
    moved = centers[present] * (counts[present] - given[present])[:, None] + sums
    lengths = np.linalg.norm(moved, axis=1)
    there = lengths > 0
    centers[present[there]] = (moved[there] / lengths[there, None]).astype(np.float32)
    return np.asarray(given)


class _Worst:
    """Keeps the rows that are farthest from every center."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._products = np.zeros(0, np.float32)
        self.rows = np.zeros((0, 0), np.float32)

    def add(self, batch: Matrix, products: Matrix) -> None:
        rows = np.concatenate((self.rows, batch)) if len(self.rows) else batch
        together = np.concatenate((self._products, products))
        order = np.argsort(together, kind="stable")[: self._number]
        self.rows, self._products = rows[order], together[order]


def _refill(centers: Matrix, seen: npt.NDArray[np.int64], worst: Matrix) -> None:
    """Move centers without rows to the rows that are farthest from every center."""
    empty = np.flatnonzero(seen == 0)[: len(worst)]
    centers[empty] = worst[: len(empty)]
