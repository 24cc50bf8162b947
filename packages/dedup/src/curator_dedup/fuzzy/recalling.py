"""Recalling: read the earlier documents of an index that new documents are linked with."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.shuffle.reader import partition_of, read_partition, united

from curator_dedup.folders import files_in
from curator_dedup.fuzzy.indexes import SETS
from curator_dedup.fuzzy.sets import SHINGLES, digest_of, sets_in
from curator_dedup.fuzzy.signing import EARLIER, KEY
from curator_dedup.fuzzy.tables import numbers_column
from curator_dedup.fuzzy.verifying import DIGEST
from curator_dedup.notes import marker, read_note

_KNOWN = "known"


@dataclass
class KnownListing(ProcessingStage[Empty, FileGroup]):
    """List partitions of linked earlier documents, each with the sets of all crawls."""

    path: str
    partitions: int
    earlier: str
    """Path of a note that names the folders of earlier crawls in the index."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        known = files_in(self.path, self.storage_options)
        files = list(known)
        note = read_note(self.earlier, self.storage_options)
        for crawl in note["earlier"] if note else ():
            files += files_in(join(crawl, SETS), self.storage_options)
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in files]
            parts.insert(0, marker(f"{self.path}#{number}"))
            yield FileGroup(parts, metadata={_KNOWN: len(known)})


@dataclass
class Recalling(ProcessingStage[FileGroup, DocumentBatch]):
    """Return earlier documents with their sets, in the same columns as `Gathering`."""

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | Dropped:
        count = task.metadata[_KNOWN]
        tables = [
            read_partition(part, self.partitions, storage_options=self.storage_options)
            for part in task.data[1 : count + 1]
        ]
        known = united(tables) if tables else None
        if known is None or not known.num_rows:
            return Dropped("no earlier document", 1)
        sets = [self._sets(part, known) for part in task.data[count + 1 :]]
        found = _once(pa.concat_tables([one for one in sets if one.num_rows] or sets))
        clusters = known["cluster"].take(pc.index_in(found["doc"], value_set=known["doc"]))
        digests = [digest_of(one) for one in sets_in(found[SHINGLES])]
        nothing = pa.array([""] * len(digests)).dictionary_encode()
        return DocumentBatch(pa.table({
            "doc": found["doc"],
            "cluster": clusters,
            "known": pa.array(np.ones(len(digests), np.bool_)),
            "block": nothing,
            "file": nothing,
            "row": np.zeros(len(digests), np.int64),
            "state": np.full(len(digests), EARLIER, np.int8),
            DIGEST: numbers_column(np.array(digests, np.uint64), KEY),
            SHINGLES: found[SHINGLES],
        }))  # fmt: skip

    def _sets(self, part: FilePart, known: pa.Table) -> pa.Table:
        table = read_partition(part, self.partitions, storage_options=self.storage_options)
        return table.filter(pc.is_in(table["doc"], value_set=known["doc"]))


def _once(sets: pa.Table) -> pa.Table:
    """Return each document once: the same files may have been deduplicated into several outputs."""
    _, firsts = np.unique(sets["doc"].to_pylist(), return_index=True)
    return sets.take(pa.array(np.sort(firsts)))
