"""Locality-sensitive hashing: link documents that share a band of minhashes.

Documents with the same key form a star: the first is linked with each of the others. A million
equal documents give a million links instead of half a trillion pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, ProcessingStage
from curator_core.io.filesystems import StorageOptions

from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.fuzzy.index import Entries, read_entries
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passes.decide import PLACE
from curator_dedup.passes.group import Indices, Mask, run_starts
from curator_dedup.passes.list import extra_files, main_files, read_parts
from curator_dedup.passes.sign import EMPTY, NO_RECORD, TEXT, document_ids


@dataclass
class BandMatching(ProcessingStage[FileGroup, DocumentBatch]):
    """Link documents that share a band.

    A row is a document and the one it is linked with: doc, to (ids; the first of several is linked
    with itself), known (whether `to` is of an earlier crawl), block, file, row, state, and the
    priority. Documents without text are included, linked with themselves.
    """

    fans_out = False

    partitions: int
    index: bool = False
    max_known: int = 1
    """Maximum number of earlier documents to link per band."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        table = read_parts(main_files(task), self.partitions, None, self.storage_options)
        if table is None:
            return
        bands = table.unify_dictionaries().combine_chunks()
        origins = pc.unique(bands["origin"]).to_pylist() if self.index else []
        entries = read_entries(extra_files(task), self.partitions, origins, self.storage_options)
        links = _BandGroups(bands, entries, self.max_known).links()
        if links.num_rows:
            yield DocumentBatch(links)
        elif bands.num_rows:
            yield Dropped("without a partner", bands.num_rows)


class _BandGroups:
    """The bands of a partition, grouped by key."""

    def __init__(self, bands: pa.Table, entries: Entries, max_known: int) -> None:
        self._bands = bands
        self._index = entries
        self._max_known = max_known
        states = bands["state"].to_numpy()
        self._left_out = np.flatnonzero((states == EMPTY) | (states == NO_RECORD))
        rows = np.flatnonzero(states == TEXT)
        keys = numbers_in(bands["key"])[rows]
        order = np.argsort(keys, kind="stable")
        self._rows, ordered = rows[order], keys[order]
        self._starts = np.flatnonzero(run_starts(ordered))
        self._sizes = np.diff(np.append(self._starts, len(ordered)))
        self._entry_places, self._entry_counts = entries.find(ordered[self._starts])

    def links(self) -> pa.Table:
        """Return every link once, however many bands two documents share."""
        members, targets, known = self._stars()
        sources = document_ids(self._bands, members)
        firsts = ~known
        ends = np.empty(len(members), np.uint64)
        ends[firsts] = document_ids(self._bands, targets[firsts])
        ends[known] = self._index.documents[targets[known]]
        once = _first_of_pairs(sources, ends)
        rows = np.concatenate((members[once], self._left_out))
        alone = document_ids(self._bands, self._left_out)
        nothing = np.zeros(len(alone), np.bool_)
        columns = {
            "doc": binary_column(np.concatenate((sources[once], alone))),
            "to": binary_column(np.concatenate((ends[once], alone))),
            "known": pa.array(np.concatenate((known[once], nothing))),
        }
        documents = self._bands.take(pa.array(rows))
        for name in (*PLACE, "state", "priority"):
            if name in documents.column_names:
                columns[name] = documents[name]
        return with_counts(pa.table(columns), {"links": len(once)})

    def _stars(self) -> tuple[Indices, Indices, Mask]:
        """Return rows, what each is linked with, and whether that is a row or an index position."""
        is_known = self._entry_counts > 0
        linked = (self._sizes > 1) | is_known
        sizes = self._sizes[linked]
        members = self._rows[np.repeat(linked, self._sizes)]
        centers = np.where(is_known, self._entry_places, self._rows[self._starts])[linked]
        firsts, further = self._further_known()
        return (
            np.concatenate((members, firsts)),
            np.concatenate((np.repeat(centers, sizes), further)),
            np.concatenate((np.repeat(is_known[linked], sizes), np.ones(len(further), np.bool_))),
        )

    def _further_known(self) -> tuple[Indices, Indices]:
        """Return the first row of each key, with positions of further earlier documents that have
        it."""
        further = np.clip(self._entry_counts - 1, 0, self._max_known - 1)
        firsts = np.repeat(self._rows[self._starts], further)
        inside = np.arange(further.sum()) - np.repeat(np.cumsum(further) - further, further)
        return firsts, np.repeat(self._entry_places, further) + 1 + inside


def _first_of_pairs(left: U64Array, right: U64Array) -> Indices:
    """Return the first position of each distinct pair."""
    order = np.lexsort((right, left))
    return np.sort(order[run_starts(left[order], right[order])])
