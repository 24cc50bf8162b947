"""Matching: the second pass, which finds documents that share a band.

Documents of one key give a star, not all pairs: the first is linked with each of the others. So a
million equal documents give a million links, not half a billion.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, Empty, FileGroup, ProcessingStage
from curator_core.exchanges.reading import partition_of, read_partition, united
from curator_core.filesystems import StorageOptions

from curator_dedup.counting import COUNTS
from curator_dedup.folders import batch_for, files_in
from curator_dedup.fuzzy.documents import document_ids
from curator_dedup.fuzzy.indexes import Entries, entries_in
from curator_dedup.fuzzy.signing import EMPTY, KEY, NO_RECORD, TEXT
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.indexes import folder_of_partition
from curator_dedup.mixing import Words
from curator_dedup.notes import marker, read_note

_BANDS = "bands"
Rows = npt.NDArray[np.int64]

LINKS, ENTRIES = "links", "entries"


@dataclass
class BandListing(ProcessingStage[Empty, FileGroup]):
    """Lists partitions of bands, each with what earlier crawls have of it."""

    path: str
    partitions: int
    earlier: str | None = None
    """A note that names the folders of earlier crawls in the index."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        bands = files_in(self.path, self.storage_options)
        note = self.earlier and read_note(self.earlier, self.storage_options)
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in bands]
            for crawl in note["crawls"] if note else ():
                parts += files_in(folder_of_partition(crawl, number), self.storage_options)
            parts.insert(0, marker(f"{self.path}#{number}"))
            yield FileGroup(parts, metadata={_BANDS: [len(bands), number]})


@dataclass
class BandMatching(ProcessingStage[FileGroup, DocumentBatch]):
    """Links documents that share a band, and gives what is new to the index.

    A row of `links` is a document and the one it is linked with: doc, to (ids; the first of several
    is linked with itself), known (whether `to` is of an earlier crawl), block, file, row, state,
    and the priority. Documents without a text stand among them, linked with themselves.
    """

    fans_out = True

    partitions: int
    index: bool = False
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        count, number = task.metadata[_BANDS]
        if not count:
            return
        read = (
            read_partition(part, self.partitions, storage_options=self.storage_options)
            for part in task.data[1 : count + 1]
        )
        bands = united(list(read)).unify_dictionaries().combine_chunks()
        entries = entries_in(task.data[count + 1 :], self.storage_options)
        matched = _Matched(bands, entries)
        links = matched.links()
        if links.num_rows:
            yield batch_for(LINKS, links, key="doc", hashed=True, partitions=self.partitions)
        fresh = matched.entries() if self.index else None
        if fresh is not None and fresh.num_rows:
            folder = folder_of_partition(ENTRIES, number)
            yield batch_for(folder, fresh, key="key", partitions=1)
        elif not links.num_rows and bands.num_rows:
            yield Dropped("without a partner", bands.num_rows)


class _Matched:
    """The bands of a partition, those of one key together."""

    def __init__(self, bands: pa.Table, entries: Entries) -> None:
        self._bands = bands
        self._index = entries
        states = bands["state"].to_numpy()
        self._left_out = np.flatnonzero((states == EMPTY) | (states == NO_RECORD))
        rows = np.flatnonzero(states == TEXT)
        keys = keys_of(bands["key"])[rows]
        order = np.argsort(keys, kind="stable")
        self._rows, ordered = rows[order], keys[order]
        begins = np.ones(len(ordered), np.bool_)
        begins[1:] = ordered[1:] != ordered[:-1]
        self._starts = np.flatnonzero(begins)
        self._sizes = np.diff(np.append(self._starts, len(ordered)))
        self._keys = ordered[self._starts]
        self._places = entries.places(self._keys)

    def links(self) -> pa.Table:
        """Every link once, however many bands two documents share."""
        members, targets, known = self._stars()
        sources = document_ids(self._bands, members)
        firsts = ~known
        ends = np.empty(len(members), np.uint64)
        ends[firsts] = document_ids(self._bands, targets[firsts])
        ends[known] = self._index.documents[targets[known]]
        once = _different(sources, ends)
        rows = np.concatenate((members[once], self._left_out))
        alone = document_ids(self._bands, self._left_out)
        nothing = np.zeros(len(alone), np.bool_)
        columns = {
            "doc": numbers_column(np.concatenate((sources[once], alone)), KEY),
            "to": numbers_column(np.concatenate((ends[once], alone)), KEY),
            "known": pa.array(np.concatenate((known[once], nothing))),
        }
        chosen = self._bands.take(pa.array(rows))
        for name in ("block", "file", "row", "state", "priority"):
            if name in chosen.column_names:
                columns[name] = chosen[name]
        return pa.table(columns, metadata={COUNTS: json.dumps({"links": len(once)})})

    def _stars(self) -> tuple[Rows, Rows, npt.NDArray[np.bool_]]:
        """Rows, and the row each is linked with, or its place in the index where that is known."""
        hit = self._is_earlier()
        linked = (self._sizes > 1) | hit
        sizes = self._sizes[linked]
        members = self._rows[np.repeat(linked, self._sizes)]
        centers = np.where(hit, self._places, self._rows[self._starts])[linked]
        return members, np.repeat(centers, sizes), np.repeat(hit[linked], sizes)

    def _is_earlier(self) -> npt.NDArray[np.bool_]:
        """Which keys another crawl has. What the index has of the same files does not count."""
        hit = self._places >= 0
        if "origin" not in self._bands.column_names or not hit.any():
            return hit
        here = set(pc.unique(self._bands["origin"]).to_pylist())
        mine = np.array([origin in here for origin in self._index.origins], np.bool_)
        hit[hit] = ~mine[self._index.files[self._places[hit]]]
        return hit

    def entries(self) -> pa.Table:
        """What the index does not have yet: for each new key the first document."""
        rows = self._rows[self._starts][self._places < 0]
        table = self._bands.select(["key", "origin"]).take(pa.array(rows))
        return table.append_column("doc", numbers_column(document_ids(self._bands, rows), KEY))


def _different(ones: Words, others: Words) -> Rows:
    """The first place of each pair."""
    order = np.lexsort((others, ones))
    same = np.zeros(len(order), np.bool_)
    same[1:] = (np.diff(ones[order]) == 0) & (np.diff(others[order]) == 0)
    return np.sort(order[~same])
