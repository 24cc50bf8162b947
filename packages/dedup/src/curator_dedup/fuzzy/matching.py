"""Matching: the second pass, which finds documents that share a band.

Documents with the same key form a star: the first is linked with each of the others. A million
equal documents give a million links instead of half a trillion pairs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, Empty, FileGroup, ProcessingStage
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.shuffle.reader import partition_of, read_partition, united

from curator_dedup.counting import COUNTS
from curator_dedup.folders import files_in
from curator_dedup.fuzzy.documents import document_ids
from curator_dedup.fuzzy.indexes import ENTRIES, Entries, entries_in
from curator_dedup.fuzzy.signing import EMPTY, KEY, NO_RECORD, TEXT
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words
from curator_dedup.notes import marker, read_note

_BANDS = "bands"
Rows = npt.NDArray[np.int64]


@dataclass
class BandListing(ProcessingStage[Empty, FileGroup]):
    """List partitions of bands, each with the earlier crawls' entries for it."""

    path: str
    partitions: int
    earlier: str | None = None
    """Path of a note that names the folders of earlier crawls in the index."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        bands = files_in(self.path, self.storage_options)
        note = self.earlier and read_note(self.earlier, self.storage_options)
        files = list(bands)
        for crawl in note["earlier"] if note else ():
            files += files_in(join(crawl, ENTRIES), self.storage_options)
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in files]
            parts.insert(0, marker(f"{self.path}#{number}"))
            yield FileGroup(parts, metadata={_BANDS: len(bands)})


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
    most_known: int = 1
    """Maximum number of earlier documents to link per band."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        count = task.metadata[_BANDS]
        if not count:
            return
        read = (
            read_partition(part, self.partitions, storage_options=self.storage_options)
            for part in task.data[1 : count + 1]
        )
        bands = united(list(read)).unify_dictionaries().combine_chunks()
        origins = pc.unique(bands["origin"]).to_pylist() if self.index else []
        entries = entries_in(task.data[count + 1 :], self.partitions, origins, self.storage_options)
        links = _Matched(bands, entries, self.most_known).links()
        if links.num_rows:
            yield DocumentBatch(links)
        elif bands.num_rows:
            yield Dropped("without a partner", bands.num_rows)


class _Matched:
    """The bands of a partition, grouped by key."""

    def __init__(self, bands: pa.Table, entries: Entries, most_known: int) -> None:
        self._bands = bands
        self._index = entries
        self._most_known = most_known
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
        self._places, self._several = entries.found(ordered[self._starts])

    def links(self) -> pa.Table:
        """Return every link once, however many bands two documents share."""
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
        """Return rows, what each is linked with, and whether that is a row or an index position."""
        hit = self._several > 0
        linked = (self._sizes > 1) | hit
        sizes = self._sizes[linked]
        members = self._rows[np.repeat(linked, self._sizes)]
        centers = np.where(hit, self._places, self._rows[self._starts])[linked]
        firsts, more = self._more_known()
        return (
            np.concatenate((members, firsts)),
            np.concatenate((np.repeat(centers, sizes), more)),
            np.concatenate((np.repeat(hit[linked], sizes), np.ones(len(more), np.bool_))),
        )

    def _more_known(self) -> tuple[Rows, Rows]:
        """Return the first row of each key, with positions of further earlier documents that have
        it."""
        more = np.clip(self._several - 1, 0, self._most_known - 1)
        firsts = np.repeat(self._rows[self._starts], more)
        inside = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more)
        return firsts, np.repeat(self._places, more) + 1 + inside


def _different(ones: Words, others: Words) -> Rows:
    """Return the first position of each distinct pair."""
    order = np.lexsort((others, ones))
    same = np.zeros(len(order), np.bool_)
    same[1:] = (np.diff(ones[order]) == 0) & (np.diff(others[order]) == 0)
    return np.sort(order[~same])
