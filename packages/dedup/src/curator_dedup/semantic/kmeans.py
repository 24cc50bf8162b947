"""K-means: find the centers of clusters in a sample of unit vectors."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import (
    DocumentBatch,
    FileGroup,
    InputError,
    ProcessingStage,
    Resources,
    WorkerInfo,
)
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle import read_partition

from curator_dedup.semantic.matmul import MatrixProducts, nearest, products_for
from curator_dedup.semantic.vectors import Matrix, matrix_in, vector_column

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

    def centers(self, rows: Matrix, products: MatrixProducts) -> Matrix:
        """Return `n_clusters` centers, or fewer if there are fewer different rows."""
        random = np.random.default_rng(self.seed)
        pool = rows[random.permutation(len(rows))[: max(_POOL * self.n_clusters, 1000)]]
        choose = _choose_spread if self.init == "k-means++" else _first_distinct
        centers = choose(pool, self.n_clusters, random)
        if len(centers) < self.n_clusters:
            centers = choose(rows, self.n_clusters, random)
        counts = np.zeros(len(centers), np.int64)
        for _ in range(self.max_iter):
            before = centers.copy()
            seen = np.zeros(len(centers), np.int64)
            farthest = _FarthestRows(len(centers))
            for batch in self._batches(rows, random):
                labels, similarities = _labels(batch, centers, products)
                farthest.add(batch, similarities)
                seen += _move(centers, counts, batch, labels)
            _refill(centers, seen, farthest.rows)
            if float(np.mean(np.sum((centers - before) ** 2, axis=1))) < self.tol:
                break
        return centers

    def _batches(self, rows: Matrix, random: np.random.Generator) -> Iterator[Matrix]:
        size = max(4096, 2 * self.n_clusters)
        order = random.permutation(len(rows))
        for start in range(0, len(rows), size):
            yield rows[order[start : start + size]]


def _first_distinct(rows: Matrix, number: int, random: np.random.Generator) -> Matrix:
    _, firsts = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(firsts)[:number]].copy()


def _choose_spread(rows: Matrix, number: int, random: np.random.Generator) -> Matrix:
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
    batch: Matrix, centers: Matrix, products: MatrixProducts
) -> tuple[npt.NDArray[np.int64], Matrix]:
    similarities, labels = nearest(products, products.load(centers), batch)
    return labels, similarities


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
    is_nonzero = lengths > 0
    centers[present[is_nonzero]] = (moved[is_nonzero] / lengths[is_nonzero, None]).astype(
        np.float32
    )
    return np.asarray(given)


class _FarthestRows:
    """Keep the rows that are farthest from every center."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._products = np.zeros(0, np.float32)
        self.rows = np.zeros((0, 0), np.float32)

    def add(self, batch: Matrix, products: Matrix) -> None:
        rows = np.concatenate((self.rows, batch)) if len(self.rows) else batch
        together = np.concatenate((self._products, products))
        order = np.argsort(together, kind="stable")[: self._number]
        self.rows, self._products = rows[order], together[order]


def _refill(centers: Matrix, seen: npt.NDArray[np.int64], farthest: Matrix) -> None:
    """Move centers without rows to the rows that are farthest from every center."""
    empty = np.flatnonzero(seen == 0)[: len(farthest)]
    centers[empty] = farthest[: len(empty)]


@dataclass
class CenterTraining(ProcessingStage[FileGroup, DocumentBatch]):
    """Return one table with the center of each cluster: cluster and vector."""

    fans_out = False

    n_clusters: int
    size: int
    init: Init = "k-means++"
    max_iter: int = 20
    tol: float = 1e-4
    seed: int = 42
    resources: Resources = field(default_factory=Resources)
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._products = products_for(self.resources, worker)

    def process(self, task: FileGroup) -> DocumentBatch:
        tables = [read_partition(part, 1, None, self.storage_options) for part in task.data]
        _refuse_other_lengths(tables)
        rows = merge_samples(tables, self.size, self.n_clusters)
        training = MiniBatchKMeans(self.n_clusters, self.init, self.max_iter, self.tol, self.seed)
        centers = training.centers(rows, self._products)
        numbers = pa.array(range(len(centers)), pa.int32())
        return DocumentBatch(pa.table({"cluster": numbers, "vector": vector_column(centers)}))


def _refuse_other_lengths(tables: list[pa.Table]) -> None:
    first, *others = sorted(tables, key=lambda table: str(table["file"][0]))
    for table in others:
        sizes = [one.schema.field("vector").type.list_size for one in (first, table)]
        if sizes[0] != sizes[1]:
            places = [f"{one['file'][0]} (row {one['row'][0]})" for one in (first, table)]
            raise InputError(
                f"vectors have {sizes[0]} numbers in {places[0]}, but {sizes[1]} in {places[1]}; "
                "compare vectors of one model only"
            )


def merge_samples(tables: list[pa.Table], size: int, least: int) -> Matrix:
    """Return the vectors with the smallest random keys of all blocks, sorted by key."""
    names = ["random_key", "key_limit", "vector"]
    merged = pa.concat_tables([table.select(names) for table in tables])
    keys = merged["random_key"].to_numpy()
    order = np.argsort(keys, kind="stable")
    limit = merged["key_limit"].to_numpy().min()
    fair = int(np.searchsorted(keys[order], limit, side="right"))
    number = min(size, max(fair, least))  # better a biased sample than one that is too small
    return matrix_in(merged["vector"].take(pa.array(order[:number])))
