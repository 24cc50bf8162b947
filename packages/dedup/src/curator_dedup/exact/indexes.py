"""Indexes: hashes of earlier crawls, to compare a new crawl without reading the old ones.

The index stores each hash with a fingerprint of the file that had it first, in the folder of its
crawl.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Empty, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import partition_of, read_partition, united

from curator_dedup.digests import DIGEST
from curator_dedup.exact.hashing import KNOWN, TEXT
from curator_dedup.folders import batch_for, files_in
from curator_dedup.indexes import folder_of_partition
from curator_dedup.notes import read_note

_HASHES = "hashes"


@dataclass(frozen=True)
class HashOptions:
    """Options that must be equal for hashes to be comparable."""

    kind: str = "exact"
    normalize: bool = False


@dataclass
class HashListing(ProcessingStage[Empty, FileGroup]):
    """List partitions of hashes, each with the same partition of earlier crawls."""

    path: str
    partitions: int
    earlier: str
    """Path of a note that names the folders of earlier crawls in the index."""

    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: Empty) -> Iterator[FileGroup]:
        hashes = files_in(self.path, self.storage_options)
        note = read_note(self.earlier, self.storage_options)
        for number in range(self.partitions):
            parts = [partition_of(file, number, self.partitions) for file in hashes]
            for crawl in note["earlier"] if note else ():
                parts += files_in(folder_of_partition(crawl, number), self.storage_options)
            yield FileGroup(parts, metadata={_HASHES: [len(hashes), number]})


@dataclass
class _Comparing(ProcessingStage[FileGroup, DocumentBatch]):
    """Compares a partition of hashes with those of earlier crawls."""

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | None:
        hashes, entries = _read(task, self.partitions, self.storage_options)
        if hashes is None:
            return None
        mine = pc.unique(hashes["origin"])
        others = entries.filter(pc.invert(pc.is_in(entries["origin"], value_set=mine)))
        has_text = pc.equal(hashes["state"], TEXT)
        known = pc.and_(has_text, pc.is_in(hashes["hash"], value_set=others["hash"]))
        return self.compared(hashes, known, task)

    @abstractmethod
    def compared(
        self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup
    ) -> DocumentBatch | None:
        """Return the output for hashes, given which are known from files other than these."""


@dataclass
class HashReading(_Comparing):
    """Read a partition of hashes and mark those that an earlier crawl has."""

    def compared(self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup) -> DocumentBatch:
        return DocumentBatch(hashes.append_column(KNOWN, known))


@dataclass
class HashRemembering(_Comparing):
    """Return the hashes that no earlier crawl has.

    Each batch is addressed to the folder of its partition.
    """

    def compared(
        self, hashes: pa.Table, known: pa.ChunkedArray, task: FileGroup
    ) -> DocumentBatch | None:
        has_text = pc.equal(hashes["state"], TEXT)
        fresh = hashes.filter(pc.and_(has_text, pc.invert(known)))
        if not fresh.num_rows:
            return None
        once = fresh.group_by("hash", use_threads=False).aggregate([("origin", "first")])
        table = pa.table({"hash": once["hash"], "origin": once["origin_first"]})
        folder = folder_of_partition("", task.metadata[_HASHES][1]).lstrip("/")
        return batch_for(folder, table, key="hash", partitions=1)


def _read(
    task: FileGroup, partitions: int, storage_options: StorageOptions | None
) -> tuple[pa.Table | None, pa.Table]:
    """Return the rows of a partition, and the earlier crawls' entries for it."""
    count = task.metadata[_HASHES][0]
    found = [read_partition(p, partitions, storage_options=storage_options)
             for p in task.data[:count]]  # fmt: skip
    rows = united(found) if found else None
    if rows is not None:
        place = rows.column_names.index("origin")
        rows = rows.set_column(place, "origin", pc.cast(rows["origin"], pa.string()))
    return rows, _entries(task.data[count:], storage_options)


def _entries(parts: list[FilePart], storage_options: StorageOptions | None) -> pa.Table:
    schema = pa.schema([("hash", DIGEST), ("origin", pa.string())])
    tables = [schema.empty_table()]
    for part in parts:
        tables.append(read_partition(part, 1, schema.names, storage_options).cast(schema))
    return pa.concat_tables(tables)
