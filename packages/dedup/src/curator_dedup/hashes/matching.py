"""Matching: the second pass, which links rows whose hashes differ in a few bits."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage

from curator_dedup.components import components
from curator_dedup.counting import COUNTS
from curator_dedup.hashes.distances import Words, words_of
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.hashes.neighbours import Rows, pairs_within

BANDS = "bands"
"""Folder of keys with their hashes, below the signed data. Rows that share a key are compared."""


@dataclass
class HashMatching(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Link the rows of a partition of bands.

    Columns: doc, to. Rows connected by pairs within the threshold are linked with the smallest id
    among them, so there are never more links than keys. Equal hashes share all keys and are linked
    in the first band only.
    """

    fans_out = False

    threshold: int

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        order = np.lexsort((ids_in(table["doc"]), ids_in(table["key"])))
        keys, ids = ids_in(table["key"])[order], ids_in(table["doc"])[order]
        hashes = words_of(table["hash"])[order]
        groups = _same(keys, hashes)
        first_band = table["band"].to_numpy()[order] == 0
        near = self._near(keys, hashes, groups)
        links = _united(ids, [_equal(groups, first_band), *near])
        if not len(links[0]):
            yield Dropped("without a partner", task.num_items)
            return
        columns = {"doc": id_column(links[0]), "to": id_column(links[1])}
        told = json.dumps({"links": len(links[0])})
        yield DocumentBatch(pa.table(columns, metadata={COUNTS: told}))

    def _near(self, keys: Words, hashes: Words, groups: Rows) -> Iterator[tuple[Rows, Rows]]:
        """Yield close pairs among different hashes, each represented by its first row."""
        if not self.threshold:
            return
        _, rows = np.unique(groups, return_index=True)
        for ones, others in pairs_within(keys[rows], hashes[rows], self.threshold):
            yield rows[ones], rows[others]


def _same(keys: Words, hashes: Words) -> Rows:
    """Return a number for each row, equal for rows with the same key and hash."""
    whole = np.column_stack((keys, hashes))
    _, numbers = np.unique(whole, axis=0, return_inverse=True)
    return np.asarray(numbers.reshape(-1), np.int64)


def _equal(groups: Rows, counts: npt.NDArray[np.bool_]) -> tuple[Rows, Rows]:
    rows = np.flatnonzero(counts)
    _, firsts, which = np.unique(groups[rows], return_index=True, return_inverse=True)
    leaders = rows[firsts[which.reshape(-1)]]
    later = leaders != rows
    return leaders[later], rows[later]


def _united(ids: Words, pairs: list[tuple[Rows, Rows]]) -> tuple[Words, Words]:
    """Link every connected row with the smallest id of its component."""
    ones = np.concatenate([pair[0] for pair in pairs])
    others = np.concatenate([pair[1] for pair in pairs])
    nodes, places = np.unique(ids[np.concatenate((ones, others))], return_inverse=True)
    half = len(ones)
    labels = nodes[components(len(nodes), places[:half], places[half:])]
    linked = labels != nodes
    return nodes[linked], labels[linked]
