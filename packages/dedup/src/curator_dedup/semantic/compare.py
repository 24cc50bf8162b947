"""Compare the vectors of each cluster: find duplicates, and decide which to keep."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, ProcessingStage, Resources, WorkerInfo
from curator_core.io.filesystems import StorageOptions
from curator_core.io.partitioning import parse_size
from curator_core.io.shuffle import read_partition

from curator_dedup.columns import words_in
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.decide import (
    PLACE,
    Keep,
    decision_counts,
    document_decisions,
    path_ranks,
    removed_without_text,
    rows_to_keep,
)
from curator_dedup.passes.group import Indices, Mask, find_roots, run_starts
from curator_dedup.passes.list import read_parts
from curator_dedup.passes.sign import EMPTY, TEXT
from curator_dedup.semantic.matmul import BLOCK_ROWS, MatrixProducts, products_for
from curator_dedup.semantic.sample import random_keys
from curator_dedup.semantic.vectors import Matrix, matrix_in

WhichToKeep: TypeAlias = Literal["hard", "easy", "random"]
"""Which of similar vectors to keep: farthest from the center of the cluster, nearest, or random."""

ROUNDING = 1e-6
"""Products of equal vectors differ from 1 by less than this."""


@dataclass
class ClusterComparing(ProcessingStage[FileGroup, DocumentBatch]):
    """Compare all vectors of each cluster of a partition.

    Vectors are sorted by `which_to_keep`; one is a duplicate if a vector before it has a cosine of
    1 - eps or more with it. Columns: block, file, row, keep, is_duplicate, cluster_id,
    cluster_size, similarity, nearest_file and nearest_row (of the nearest vector before it), and id
    and nearest_id if there are ids.
    """

    fans_out = False

    partitions: int
    eps: float = 0.01
    which_to_keep: WhichToKeep = "hard"
    keep: Keep = "one"
    keep_empty: bool = True
    id_field: str | None = None
    seed: int = 42
    memory: int | str = "1GB"
    resources: Resources = field(default_factory=Resources)
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._products = products_for(self.resources, worker)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        documents = self._documents(task)
        ordered = self._ordered(documents)
        parents, similarities = self._find_parents(task, documents, ordered)
        decisions = self._decisions(documents, _find_groups(ordered, parents, similarities))
        if decisions.num_rows < documents.num_rows:
            yield Dropped("without equals", documents.num_rows - decisions.num_rows)
        if decisions.num_rows:
            yield DocumentBatch(decisions)

    def _documents(self, task: FileGroup) -> pa.Table:
        """Return all columns except the vectors."""
        names = ["cluster", "similarity", "digest", *PLACE, "state"]
        names += ["id"] if self.id_field else []
        table = read_parts(task.data, self.partitions, names, self.storage_options)
        assert table is not None  # a listing has files, or fails
        return table.combine_chunks()

    def _read(self, part: Any, names: list[str]) -> pa.Table:
        return read_partition(part, self.partitions, names, self.storage_options)

    def _ordered(self, documents: pa.Table) -> Indices:
        """Return the rows that have vectors, cluster after cluster, the one to keep first."""
        rows = np.flatnonzero(documents["state"].to_numpy() == TEXT)
        chosen = documents.take(pa.array(rows))
        keys = [chosen["row"].to_numpy(), path_ranks(chosen["file"]), self._ranks(chosen)]
        return np.asarray(rows[np.lexsort([*keys, chosen["cluster"].to_numpy()])])

    def _ranks(self, documents: pa.Table) -> npt.NDArray[Any]:
        if self.which_to_keep == "random":
            return random_keys(documents["digest"].combine_chunks(), self.seed)
        similarities: npt.NDArray[Any] = documents["similarity"].to_numpy()
        return similarities if self.which_to_keep == "hard" else -similarities

    def _find_parents(
        self, task: FileGroup, documents: pa.Table, ordered: Indices
    ) -> tuple[Indices, npt.NDArray[np.float32]]:
        """Return the nearest row before each ordered row, or -1 if it is not near enough."""
        parents = np.full(len(ordered), -1, np.int64)
        similarities = np.full(len(ordered), -2, np.float32)
        if not len(ordered):
            return parents, similarities
        chosen = documents.select(["cluster", "digest"]).take(pa.array(ordered))
        firsts = _first_identical(chosen)
        apart = np.flatnonzero(firsts == np.arange(len(firsts)))
        clusters = chosen["cluster"].to_numpy()[apart]
        edges = [0, *(np.flatnonzero(np.diff(clusters)) + 1), len(apart)]
        places = np.full(documents.num_rows, -1, np.int64)
        places[ordered[apart]] = np.arange(len(apart))
        with open_matrix(len(apart), self._dimension(task), parse_size(self.memory) or 0) as matrix:
            self._fill(matrix, task, places)
            for start, end in pairwise(edges):
                found = find_neighbours(matrix[start:end], self._products, self._floor)
                rows = apart[start:end]
                similarities[rows] = found.similarities
                near = found.places >= 0
                parents[rows[near]] = rows[found.places[near]]
            del matrix
        copies = firsts != np.arange(len(firsts))
        parents[copies], similarities[copies] = firsts[copies], 1
        return parents, similarities

    @property
    def _floor(self) -> float:
        return 1 - self.eps - ROUNDING

    def _dimension(self, task: FileGroup) -> int:
        [table] = [self._read(part, ["vector"]).slice(0, 0) for part in task.data[:1]]
        return int(table.schema.field("vector").type.list_size)

    def _fill(self, matrix: Matrix, task: FileGroup, places: Indices) -> None:
        """Read the vectors, one file at a time, and copy each to its row of the matrix."""
        start = 0
        for part in task.data:
            table = self._read(part, ["state", "vector"])
            wanted = places[start : start + table.num_rows]
            start += table.num_rows
            has = table["state"].to_numpy() == TEXT
            vectors = matrix_in(table["vector"])
            is_kept = wanted[has] >= 0
            matrix[wanted[has][is_kept]] = vectors[is_kept]

    def _decisions(self, documents: pa.Table, groups: "_Groups") -> pa.Table:
        without_vector = removed_without_text(documents, keep_empty=self.keep_empty)
        is_duplicate = ~groups.is_first
        is_kept = rows_to_keep(self.keep, is_duplicate)
        decisions = document_decisions(
            documents.take(pa.array(groups.rows)),
            is_kept,
            is_duplicate,
            _group_columns(documents, groups),
            without_vector,
        )
        counts = decision_counts(int(groups.is_first.sum()), is_duplicate, is_kept)
        counts["removed"] += int((without_vector["state"].to_numpy() == EMPTY).sum())
        return with_counts(decisions, counts)


def _first_identical(vectors: pa.Table) -> Indices:
    """Return for each row the first in its cluster with an identical vector, usually itself."""
    hashes = words_in(vectors["digest"])
    clusters = vectors["cluster"].to_numpy()
    rows = np.arange(len(clusters))
    order = np.lexsort((rows, hashes[:, 1], hashes[:, 0], clusters))
    starts = run_starts(hashes[order], clusters[order])
    firsts = np.empty(len(rows), np.int64)
    firsts[order] = order[np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return firsts


class _Groups(NamedTuple):
    """Rows of a table that are in groups, with the root of each and its nearest row before it."""

    rows: Indices
    is_first: Mask
    sizes: Indices
    roots: Indices
    nearest: Indices
    similarities: npt.NDArray[np.float32]


def _find_groups(
    ordered: Indices, parents: Indices, similarities: npt.NDArray[np.float32]
) -> _Groups:
    """Group rows with their parents; a root has the parent -1."""
    roots = find_roots(np.where(parents < 0, np.arange(len(parents)), parents))
    sizes = np.bincount(roots, minlength=len(roots))[roots]
    rows = np.flatnonzero(sizes > 1)
    parents = parents[rows]
    return _Groups(
        ordered[rows],
        parents < 0,
        sizes[rows],
        ordered[roots[rows]],
        np.where(parents < 0, -1, ordered[parents]),
        similarities[rows],
    )


def _group_columns(documents: pa.Table, groups: _Groups) -> dict[str, Any]:
    """Return the columns that describe a document's group and its nearest vector."""
    is_root = groups.nearest < 0
    nearest = documents.take(pa.array(groups.nearest, mask=is_root))
    columns: dict[str, Any] = {
        "cluster_id": documents["digest"].take(pa.array(groups.roots)),
        "cluster_size": pa.array(groups.sizes),
        "similarity": pc.if_else(pa.array(is_root), None, pa.array(groups.similarities)),
        "nearest_file": pc.cast(nearest["file"], pa.string()),
        "nearest_row": nearest["row"],
    }
    if "id" in documents.column_names:
        columns["id"] = documents["id"].take(pa.array(groups.rows))
        columns["nearest_id"] = nearest["id"]
    return columns


class Neighbours(NamedTuple):
    similarities: npt.NDArray[np.float32]
    """The largest cosine with an earlier row; -2 if there is none."""

    places: Indices
    """The first row with that cosine; -1 if it is below the floor."""


def find_neighbours(
    rows: Matrix, products: MatrixProducts, floor: float, block_rows: int = BLOCK_ROWS
) -> Neighbours:
    """Multiply block by block, holding only one product of two blocks at a time."""
    best = np.full(len(rows), -2, np.float32)
    places = np.full(len(rows), -1, np.int64)
    for start in range(0, len(rows), block_rows):
        block = products.load(rows[start : start + block_rows])
        here = slice(start, start + block_rows)
        for first in range(0, start, block_rows):
            others = products.load(rows[first : first + block_rows])
            _update_best(best[here], places[here], products.best(others, block, floor), first)
        _update_best(best[here], places[here], products.best_before(block, floor), start)
    return Neighbours(best, places)


def _update_best(
    best: npt.NDArray[np.float32],
    places: Indices,
    found: tuple[Matrix, Indices],
    first: int,
) -> None:
    """Replace results that are improved on; for equal products the earlier row stays."""
    similarities, rows = found
    better = similarities > best
    best[better] = similarities[better]
    known = better & (rows >= 0)
    places[known] = rows[known] + first


@contextmanager
def open_matrix(rows: int, dimension: int, memory: int) -> Iterator[Matrix]:
    """Yield an uninitialized matrix; if it is larger than `memory`, a memory-mapped file."""
    if rows * dimension * 4 <= memory:
        yield np.empty((rows, dimension), np.float32)
        return
    with TemporaryDirectory(prefix="curator-vectors-") as folder:
        shape: Any = (rows, dimension)
        mapped = np.memmap(f"{folder}/vectors", np.float32, "w+", shape=shape)
        try:
            yield mapped
        finally:
            del mapped
