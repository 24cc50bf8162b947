"""Deciding: of the pictures that hang together, which stay."""

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
from curator_dedup.hashes.distances import Words, distances, words_of
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.hashes.neighbours import Rows

from curator_image.duplicates.identities import in_order

WhichToKeep: TypeAlias = Literal["largest", "smallest", "first"]
"""Of duplicates: that of the most pixels (and bytes), of the fewest, or the first of them."""


@dataclass
class PictureDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Says of every picture that has duplicates whether it stays.

    The best of those that hang together takes all that are within the threshold of itself; of the
    others again the best, and so on: nothing goes only because it resembles what goes. The columns:
    doc, keep, is_duplicate, cluster (the id of the best), size, distance to the best, source, key.
    """

    fans_out = False

    threshold: int
    keep: Keep = "one"
    which_to_keep: WhichToKeep = "largest"

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        clusters = ids_in(table["cluster"])
        order = np.lexsort([*self._orders(table), clusters])
        table, clusters = table.take(pa.array(order)), clusters[order]
        bests, apart = self._bests(clusters, words_of(table["hash"]))
        sizes = np.bincount(bests, minlength=len(bests))[bests]
        several = np.flatnonzero(sizes > 1)
        if len(several) < len(bests):
            yield Dropped("too far from the best", len(bests) - len(several))
        if len(several):
            yield DocumentBatch(self._decisions(table, bests, apart, sizes, several))

    def _orders(self, table: pa.Table) -> list[npt.NDArray[np.generic]]:
        """The last of them decides before the others."""
        names = zip(table["source"].to_pylist(), table["key"].to_pylist(), strict=True)
        places = [in_order(source, key) for source, key in names]
        ranks = np.empty(len(places), np.int64)
        ranks[sorted(range(len(places)), key=places.__getitem__)] = np.arange(len(places))
        sign = {"largest": -1, "smallest": 1, "first": 0}[self.which_to_keep]
        sizes = [sign * table[name].to_numpy() for name in ("bytes", "pixels")]
        return [ranks, *sizes, -table["priority"].to_numpy()]

    def _bests(self, clusters: Words, hashes: Words) -> tuple[Rows, npt.NDArray[np.int64]]:
        """For each row the row of the best that it is near enough to, and how near."""
        starts = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), np.diff(clusters) != 0)))
        bests = np.arange(len(clusters))
        apart = np.zeros(len(clusters), np.int64)
        for start, end in zip(starts, [*starts[1:], len(clusters)], strict=True):
            left = np.arange(start, end)
            while len(left):
                away = distances(hashes[left[0]], hashes[left])
                near = away <= self.threshold
                bests[left[near]] = left[0]
                apart[left[near]] = away[near]
                left = left[~near]
        return bests, apart

    def _decisions(
        self, table: pa.Table, bests: Rows, apart: Rows, sizes: Rows, rows: Rows
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
            "distance": apart[rows],
            **{name: table[name].take(pa.array(rows)) for name in ("source", "key")},
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})
