"""The index of fuzzy deduplication: documents of earlier crawls.

A crawl has two exchanges: `entries`, the keys of all bands of its documents, and `sets`, the
shingles of its documents, which exist only if documents are verified.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, NodeInfo, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle import read_partition

from curator_dedup.columns import ID, binary_column, coded_column, constant_column, numbers_in
from curator_dedup.fuzzy.minhash import EARLIER, SigningOptions, file_origin
from curator_dedup.fuzzy.verify import (
    SHINGLES,
    SHINGLES_DIGEST,
    sets_column,
    sets_in,
    shingle_sets,
    shingles_digest,
)
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import batch_for_folder
from curator_dedup.passes.decide import PLACE
from curator_dedup.passes.group import Indices, sorted_unique_pairs
from curator_dedup.passes.list import (
    block_id,
    extra_files,
    main_files,
    read_block_rows,
    read_columns,
    read_parts,
)
from curator_dedup.passes.sign import document_ids
from curator_dedup.text_reader import TextBatch, TextFields, read_texts

ENTRIES, SETS = "entries", "sets"

MAX_KNOWN = 64
"""Maximum number of earlier documents per band that a document is compared with."""


@dataclass(frozen=True)
class IndexOptions(SigningOptions):
    """Options that must be equal for two crawls to be comparable."""

    verified: bool = True


@dataclass(frozen=True)
class Entries:
    """Keys in sorted order, each with a document that has it."""

    keys: U64Array
    documents: U64Array

    def find(self, keys: U64Array) -> tuple[Indices, Indices]:
        """Return for each key its first position, and how many entries have it."""
        first = np.searchsorted(self.keys, keys, "left")
        return first, np.searchsorted(self.keys, keys, "right") - first


def read_entries(
    parts: Sequence[FilePart],
    partitions: int,
    own_origins: Sequence[str] = (),
    storage_options: StorageOptions | None = None,
) -> Entries:
    """Return the entries for a partition of keys, except those from files with these origins."""
    schema = pa.schema([("key", ID), ("doc", ID), ("origin", pa.string())])
    table = read_columns(parts, schema, partitions, storage_options)
    is_own = pc.is_in(table["origin"], value_set=pa.array(own_origins, pa.string()))
    table = table.filter(pc.invert(is_own))
    return Entries(*sorted_unique_pairs(numbers_in(table["key"]), numbers_in(table["doc"])))


@dataclass
class DocumentIndexing(ProcessingStage[FileGroup, DocumentBatch]):
    """Read the documents of a block again, and return those that the index needs.

    With `verified` these are the documents that are not duplicates: only they can cause the removal
    of a later one. Otherwise they are all documents except duplicates of an earlier crawl.
    """

    fans_out = True

    partitions: int
    options: SigningOptions = field(default_factory=SigningOptions)
    text_field: str = "text"
    verified: bool = True
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def setup_on_node(self, node: NodeInfo) -> None:
        self.options.signing.compile()

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = main_files(task)
        block = block_id(inputs)
        excluded = self._excluded_rows(block, extra_files(task))
        tables = _IndexTables(block, self.options, with_sets=self.verified)
        for part in inputs:
            for batch in read_texts(part, TextFields(self.text_field), self.storage_options):
                rows = excluded.get(part.path)
                tables.add(part, batch if rows is None else _without_rows(batch, rows))
        if not tables.count:
            yield Dropped("all known", 1)
            return
        entries = tables.entries(once=not self.verified)
        yield batch_for_folder(ENTRIES, entries, key="key", hashed=True, partitions=self.partitions)
        if self.verified:
            yield batch_for_folder(
                SETS, tables.sets(), key="doc", hashed=True, partitions=self.partitions
            )

    def _excluded_rows(self, block: str, parts: Sequence[FilePart]) -> dict[str, Indices]:
        """Return the rows that are not indexed, by file."""
        flag = "is_duplicate" if self.verified else "known"
        found = read_block_rows(block, parts, self.partitions, [*PLACE, flag], self.storage_options)
        if found is None:
            return {}
        excluded = found.filter(found[flag])
        files = excluded["file"].cast(pa.string())
        return {
            path: excluded.filter(pc.equal(files, path))["row"].to_numpy()
            for path in pc.unique(files).to_pylist()
        }


def _without_rows(batch: TextBatch, rows: Indices) -> TextBatch:
    kept = np.flatnonzero(~np.isin(batch.positions, rows))
    return TextBatch(batch.positions[kept], [batch.texts[row] for row in kept])


class _IndexTables:
    """Collects the documents of a block that go into the index."""

    def __init__(self, block: str, options: SigningOptions, *, with_sets: bool) -> None:
        self._block = block
        self._signing = options.signing
        self._with_sets = with_sets
        self._keys: list[U64Array] = []
        self._documents: list[U64Array] = []
        self._origins: list[npt.NDArray[np.int32]] = []
        self._origin_codes: dict[str, int] = {}
        self._sets: list[npt.NDArray[np.uint32]] = []

    @property
    def count(self) -> int:
        return sum(map(len, self._documents))

    def add(self, part: FilePart, batch: TextBatch) -> None:
        keys, has_keys = self._signing.keys(batch.texts)
        rows = batch.positions[has_keys]
        table = pa.table({
            "block": constant_column(self._block, len(rows)),
            "file": constant_column(part.path, len(rows)),
            "row": rows,
        })  # fmt: skip
        code = self._origin_codes.setdefault(file_origin(part), len(self._origin_codes))
        self._keys.append(keys[has_keys])
        self._documents.append(document_ids(table, np.arange(len(rows))))
        self._origins.append(np.full(len(rows), code, np.int32))
        if self._with_sets:
            texts = [batch.texts[row] or "" for row in np.flatnonzero(has_keys)]
            self._sets += shingle_sets(self._signing.shingling, texts)

    def entries(self, *, once: bool) -> pa.Table:
        """Return a row for each band of each document; with `once`, only for its first document."""
        keys = np.concatenate(self._keys)
        bands = keys.shape[1]
        documents = np.repeat(np.concatenate(self._documents), bands)
        origins = np.repeat(np.concatenate(self._origins), bands)
        flat = keys.ravel()
        if once:
            flat, first = np.unique(flat, return_index=True)
            documents, origins = documents[first], origins[first]
        return pa.table({
            "key": binary_column(flat),
            "doc": binary_column(documents),
            "origin": coded_column(origins, list(self._origin_codes)),
        })  # fmt: skip

    def sets(self) -> pa.Table:
        documents = binary_column(np.concatenate(self._documents))
        return pa.table({"doc": documents, SHINGLES: sets_column(self._sets)})


@dataclass
class EarlierReading(ProcessingStage[FileGroup, DocumentBatch]):
    """Read the earlier documents that new ones are linked with, with their sets from the index.

    Columns: those of `ShingleReading`.
    """

    fans_out = False

    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> DocumentBatch | Dropped:
        known = read_parts(main_files(task), self.partitions, None, self.storage_options)
        if known is None or not known.num_rows:
            return Dropped("no earlier document", 1)
        tables = [self._sets(part, known) for part in extra_files(task)]
        sets = pa.concat_tables([table for table in tables if table.num_rows] or tables)
        found = _unique_documents(sets)
        clusters = known["cluster"].take(pc.index_in(found["doc"], value_set=known["doc"]))
        digests = [shingles_digest(numbers) for numbers in sets_in(found[SHINGLES])]
        count = len(digests)
        return DocumentBatch(pa.table({
            "doc": found["doc"],
            "cluster": clusters,
            "known": pa.array(np.ones(count, np.bool_)),
            "block": constant_column("", count),
            "file": constant_column("", count),
            "row": np.zeros(count, np.int64),
            "state": np.full(count, EARLIER, np.int8),
            SHINGLES_DIGEST: binary_column(np.array(digests, np.uint64)),
            SHINGLES: found[SHINGLES],
        }))  # fmt: skip

    def _sets(self, part: FilePart, known: pa.Table) -> pa.Table:
        table = read_partition(part, self.partitions, storage_options=self.storage_options)
        return table.filter(pc.is_in(table["doc"], value_set=known["doc"]))


def _unique_documents(sets: pa.Table) -> pa.Table:
    """Return each document once: the same files may have been deduplicated into several outputs."""
    _, firsts = np.unique(sets["doc"].to_pylist(), return_index=True)
    return sets.take(pa.array(np.sort(firsts)))
