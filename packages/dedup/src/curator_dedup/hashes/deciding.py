"""Deciding: which rows of a cluster are kept, for any way of comparing them."""

import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Keep
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.hashes.neighbours import Rows


class Bests(NamedTuple):
    """For each row, the best row that it duplicates, and the distance to it."""

    rows: Rows
    distances: npt.NDArray[Any]

    @classmethod
    def themselves(cls, count: int, kind: type[np.generic]) -> "Bests":
        """Return each row as its own best, before any comparison."""
        return cls(np.arange(count), np.zeros(count, kind))


@dataclass
class Deciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Decide for each row that has duplicates whether it is kept.

    The best row of a cluster takes all rows that are similar to it, then the best of the remaining
    rows does, and so on: no row is removed only because it resembles a removed one. Columns: doc,
    keep, is_duplicate, cluster (the id of the best), size, distance to the best, and those
    `carried`.
    """

    fans_out = False

    carried: ClassVar[tuple[str, ...]] = ()
    unlike: ClassVar[str] = "not like the best"
    """Reason reported for linked rows that turn out to have no duplicates."""

    keep: Keep = field(default="one", kw_only=True)

    @abstractmethod
    def orders(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        """Return sort keys that put better rows first; the last key has precedence."""

    @abstractmethod
    def bests(self, table: pa.Table, clusters: list[tuple[int, int]]) -> Bests:
        """Find the best row of each row. `clusters` has the start and end of each cluster, whose
        rows are sorted from best to worst."""

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        clusters = ids_in(table["cluster"])
        order = np.lexsort([*self.orders(table), clusters])
        table = table.take(pa.array(order))
        bests = self.bests(table, _spans(clusters[order]))
        sizes = np.bincount(bests.rows, minlength=table.num_rows)[bests.rows]
        several = np.flatnonzero(sizes > 1)
        if len(several) < table.num_rows:
            yield Dropped(self.unlike, table.num_rows - len(several))
        if len(several):
            yield DocumentBatch(self._decisions(table, bests, sizes, several))

    def _decisions(self, table: pa.Table, bests: Bests, sizes: Rows, rows: Rows) -> pa.Table:
        ids = ids_in(table["doc"])
        duplicate = (bests.rows != np.arange(len(ids)))[rows]
        stays = ~duplicate if self.keep == "one" else np.full(len(rows), self.keep == "mark")
        told = {
            "groups": int((~duplicate).sum()),
            "duplicates": int(duplicate.sum()),
            "removed": int((~stays).sum()),
        }
        columns = {
            "doc": id_column(ids[rows]),
            "keep": stays,
            "is_duplicate": duplicate,
            "cluster": id_column(ids[bests.rows[rows]]),
            "size": sizes[rows],
            "distance": bests.distances[rows],
            **{name: table[name].take(pa.array(rows)) for name in self.carried},
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})


def _spans(clusters: Words) -> list[tuple[int, int]]:
    """Return where each run of equal numbers begins and ends."""
    starts = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), np.diff(clusters) != 0)))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(clusters)], strict=True))
