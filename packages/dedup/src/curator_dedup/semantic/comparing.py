"""Comparing: the fourth pass, which finds the duplicates of each cluster and which to keep."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, ProcessingStage, Resources
from curator_core.io.filesystems import StorageOptions
from curator_core.io.partitioning import parsed_size
from curator_core.io.shuffle.reader import read_partition, united
from curator_core.model.resources import WorkerInfo

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Keep, path_ranks, words_of
from curator_dedup.semantic.arithmetic import arithmetic_for
from curator_dedup.semantic.assigning import EMPTY, NO_RECORD, VECTOR
from curator_dedup.semantic.neighbours import Indices, neighbours_of, roots_of
from curator_dedup.semantic.sampling import lots_of
from curator_dedup.semantic.stores import store_of
from curator_dedup.semantic.vectors import Matrix, matrix_of

WhichToKeep: TypeAlias = Literal["hard", "easy", "random"]
"""Which of similar vectors to keep: farthest from the center of the cluster, nearest, or random."""

ROUNDING = 1e-6
"""Products of equal vectors differ from 1 by less than this."""

_PLACE = ["block", "file", "row"]


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
        self._arithmetic = arithmetic_for(self.resources, worker)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        facts = self._facts(task)
        ordered = self._ordered(facts)
        parents, similarities = self._parents(task, facts, ordered)
        found = _Found(ordered, parents, similarities)
        decided = self._decided(facts, found)
        if decided.num_rows < facts.num_rows:
            yield Dropped("without equals", facts.num_rows - decided.num_rows)
        if decided.num_rows:
            yield DocumentBatch(decided)

    def _facts(self, task: FileGroup) -> pa.Table:
        """Return all columns except the vectors."""
        names = ["cluster", "similarity", "digest", *_PLACE, "state"]
        names += ["id"] if self.id_field else []
        return united([self._read(part, names) for part in task.data]).combine_chunks()

    def _read(self, part: Any, names: list[str]) -> pa.Table:
        return read_partition(part, self.partitions, names, self.storage_options)

    def _ordered(self, facts: pa.Table) -> Indices:
        """Return the rows that have vectors, cluster after cluster, the one to keep first."""
        rows = np.flatnonzero(facts["state"].to_numpy() == VECTOR)
        chosen = facts.take(pa.array(rows))
        orders = [chosen["row"].to_numpy(), path_ranks(chosen["file"]), self._worth(chosen)]
        return np.asarray(rows[np.lexsort([*orders, chosen["cluster"].to_numpy()])])

    def _worth(self, facts: pa.Table) -> npt.NDArray[Any]:
        if self.which_to_keep == "random":
            return lots_of(facts["digest"].combine_chunks(), self.seed)
        similarities: npt.NDArray[Any] = facts["similarity"].to_numpy()
        return similarities if self.which_to_keep == "hard" else -similarities

    def _parents(
        self, task: FileGroup, facts: pa.Table, ordered: Indices
    ) -> tuple[Indices, npt.NDArray[np.float32]]:
        """Return the nearest row before each ordered row, or -1 if it is not near enough."""
        parents = np.full(len(ordered), -1, np.int64)
        similarities = np.full(len(ordered), -2, np.float32)
        if not len(ordered):
            return parents, similarities
        chosen = facts.select(["cluster", "digest"]).take(pa.array(ordered))
        firsts = _first_alike(chosen)
        apart = np.flatnonzero(firsts == np.arange(len(firsts)))
        clusters = chosen["cluster"].to_numpy()[apart]
        edges = [0, *(np.flatnonzero(np.diff(clusters)) + 1), len(apart)]
        places = np.full(facts.num_rows, -1, np.int64)
        places[ordered[apart]] = np.arange(len(apart))
        with store_of(len(apart), self._dimension(task), parsed_size(self.memory) or 0) as store:
            self._fill(store, task, places)
            for start, end in pairwise(edges):
                found = neighbours_of(store[start:end], self._arithmetic, self._floor)
                rows = apart[start:end]
                similarities[rows] = found.similarities
                near = found.places >= 0
                parents[rows[near]] = rows[found.places[near]]
            del store
        copies = firsts != np.arange(len(firsts))
        parents[copies], similarities[copies] = firsts[copies], 1
        return parents, similarities

    @property
    def _floor(self) -> float:
        return 1 - self.eps - ROUNDING

    def _dimension(self, task: FileGroup) -> int:
        [table] = [self._read(part, ["vector"]).slice(0, 0) for part in task.data[:1]]
        return int(table.schema.field("vector").type.list_size)

    def _fill(self, store: Matrix, task: FileGroup, places: Indices) -> None:
        """Read the vectors, one file at a time, and copy each to its position in the store."""
        start = 0
        for part in task.data:
            table = self._read(part, ["state", "vector"])
            wanted = places[start : start + table.num_rows]
            start += table.num_rows
            has = table["state"].to_numpy() == VECTOR
            matrix = matrix_of(table["vector"])
            kept = wanted[has] >= 0
            store[wanted[has][kept]] = matrix[kept]

    def _decided(self, facts: pa.Table, found: "_Found") -> pa.Table:
        groups = found.groups()
        stays = groups.is_first if self.keep == "one" else np.full(len(groups.rows), False)
        if self.keep == "mark":
            stays = np.full(len(groups.rows), True)
        others = np.flatnonzero(self._is_dropped(facts["state"].to_numpy()))
        decided = _columns_of(facts, groups, stays)
        if len(others):
            left_out = facts.select(_PLACE).take(pa.array(others))
            no = pa.array(np.zeros(len(others), np.bool_))
            left_out = left_out.append_column("keep", no).append_column("is_duplicate", no)
            decided = pa.concat_tables([decided, left_out], promote_options="permissive")
        gone = int((facts["state"].to_numpy()[others] == EMPTY).sum())
        told = Counter(
            groups=int(groups.is_first.sum()),
            duplicates=int((~groups.is_first).sum()),
            removed=int((~stays).sum()) + gone,
        )
        return decided.replace_schema_metadata({COUNTS: json.dumps(told)})

    def _is_dropped(self, states: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if self.keep_empty:
            return np.asarray(states == NO_RECORD)
        return np.asarray(states != VECTOR)


def _first_alike(chosen: pa.Table) -> Indices:
    """Return for each row the first in its cluster with an identical vector, usually itself."""
    words = words_of(chosen["digest"])
    clusters = chosen["cluster"].to_numpy()
    rows = np.arange(len(clusters))
    order = np.lexsort((rows, words[:, 1], words[:, 0], clusters))
    same = np.all(words[order[1:]] == words[order[:-1]], axis=1)
    same &= clusters[order[1:]] == clusters[order[:-1]]
    begins = np.concatenate((np.ones(1, np.bool_), ~same))
    firsts = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    alike = np.empty(len(rows), np.int64)
    alike[order] = firsts
    return alike


class _Groups(NamedTuple):
    """Rows of a table that are in groups, with the root of each and its nearest row before it."""

    rows: Indices
    is_first: npt.NDArray[np.bool_]
    sizes: Indices
    roots: Indices
    nearest: npt.NDArray[np.int64]
    similarities: npt.NDArray[np.float32]


class _Found(NamedTuple):
    ordered: Indices
    parents: Indices
    similarities: npt.NDArray[np.float32]

    def groups(self) -> _Groups:
        roots = roots_of(self.parents)
        sizes = np.bincount(roots, minlength=len(roots))[roots]
        several = np.flatnonzero(sizes > 1)
        parents = self.parents[several]
        return _Groups(
            self.ordered[several],
            parents < 0,
            sizes[several],
            self.ordered[roots[several]],
            np.where(parents < 0, -1, self.ordered[parents]),
            self.similarities[several],
        )


def _columns_of(facts: pa.Table, groups: _Groups, stays: npt.NDArray[np.bool_]) -> pa.Table:
    chosen = facts.select(_PLACE).take(pa.array(groups.rows))
    first = groups.nearest < 0
    nearest = facts.take(pa.array(groups.nearest, mask=first))
    added: dict[str, Any] = {
        "keep": pa.array(stays),
        "is_duplicate": pa.array(~groups.is_first),
        "cluster_id": facts["digest"].take(pa.array(groups.roots)),
        "cluster_size": pa.array(groups.sizes),
        "similarity": pc.if_else(pa.array(first), None, pa.array(groups.similarities)),
        "nearest_file": pc.cast(nearest["file"], pa.string()),
        "nearest_row": nearest["row"],
    }
    if "id" in facts.column_names:
        added["id"] = facts["id"].take(pa.array(groups.rows))
        added["nearest_id"] = nearest["id"]
    for name, column in added.items():
        chosen = chosen.append_column(name, column)
    return chosen
