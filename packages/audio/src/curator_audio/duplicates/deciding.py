"""Deciding: of the recordings that hang together, which stay."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage
from curator_dedup.counting import COUNTS
from curator_dedup.decisions import Keep
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.hashes.neighbours import Rows

from curator_audio.fingerprints.comparing import apart

WhichToKeep: TypeAlias = Literal["longest", "shortest", "first"]
"""Of duplicates: that which lasts longest, or shortest, or the first by its path."""


@dataclass(frozen=True)
class Likeness:
    """What makes two recordings duplicates."""

    threshold: float
    overlap: float
    excerpts: bool = False

    def apart(self, one: "_Recording", other: "_Recording") -> float | None:
        """The share of bits that differ, where that is little enough."""
        if one.digest == other.digest:
            return 0.0
        if not (len(one.prints) and len(other.prints)):
            return None
        found = apart(one.prints, other.prints, self.overlap, excerpts=self.excerpts)
        return found if found <= self.threshold else None


@dataclass(frozen=True)
class _Recording:
    digest: bytes
    prints: npt.NDArray[np.uint32]


@dataclass
class RecordingDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Says of every recording that has duplicates whether it stays.

    The best of those that hang together takes all that are like itself; of the others again the
    best, and so on: nothing goes only because it resembles what goes. The columns: doc, keep,
    is_duplicate, cluster (the id of the best), size, distance to the best, path.
    """

    fans_out = False

    likeness: Likeness
    keep: Keep = "one"
    which_to_keep: WhichToKeep = "longest"

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        clusters = ids_in(table["cluster"])
        order = np.lexsort([*self._orders(table), clusters])
        table, clusters = table.take(pa.array(order)), clusters[order]
        bests, distances = self._bests(clusters, table)
        sizes = np.bincount(bests, minlength=len(bests))[bests]
        several = np.flatnonzero(sizes > 1)
        if len(several) < len(bests):
            yield Dropped("not like the best", len(bests) - len(several))
        if len(several):
            yield DocumentBatch(self._decisions(table, bests, distances, sizes, several))

    def _orders(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        """The last of them decides before the others."""
        paths = table["path"].to_pylist()
        ranks = np.empty(len(paths), np.int64)
        ranks[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        sign = {"longest": -1, "shortest": 1, "first": 0}[self.which_to_keep]
        lengths = np.round(sign * table["seconds"].to_numpy(), 1)
        return [ids_in(table["doc"]), ranks, lengths, -table["priority"].to_numpy()]

    def _bests(self, clusters: Words, table: pa.Table) -> tuple[Rows, npt.NDArray[np.float64]]:
        """For each row the row of the best that it is like, and how far from it."""
        recordings = [
            _Recording(digest, np.frombuffer(prints, np.uint32))
            for digest, prints in zip(
                table["digest"].to_pylist(), table["prints"].to_pylist(), strict=True
            )
        ]
        bests = np.arange(len(clusters))
        distances = np.zeros(len(clusters), np.float64)
        starts = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), np.diff(clusters) != 0)))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(clusters)], strict=True):
            left = list(range(start, end))
            while left:
                best, *others = left
                found = {row: self.likeness.apart(recordings[best], recordings[row])
                         for row in others}  # fmt: skip
                for row, distance in found.items():
                    if distance is not None:
                        bests[row], distances[row] = best, distance
                left = [row for row in others if found[row] is None]
        return bests, distances

    def _decisions(
        self,
        table: pa.Table,
        bests: Rows,
        distances: npt.NDArray[np.float64],
        sizes: Rows,
        rows: Rows,
    ) -> pa.Table:
        ids = ids_in(table["doc"])
        duplicate = (bests != np.arange(len(bests)))[rows]
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
            "cluster": id_column(ids[bests[rows]]),
            "size": sizes[rows],
            "distance": distances[rows],
            "path": table["path"].take(pa.array(rows)),
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})
