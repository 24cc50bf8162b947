"""Indexes: documents of earlier crawls.

A crawl has two exchanges: `entries`, the keys of all bands of its documents, and `sets`, the
shingles of its documents, which exist only if documents are verified.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage
from curator_core.io.filesystems import StorageOptions
from curator_core.io.shuffle.reader import read_partition
from curator_core.model.lineage import fingerprint
from curator_core.model.resources import NodeInfo

from curator_dedup.blocks import block_id, decisions_of, inputs_of, rows_of_block
from curator_dedup.engines import is_compiled
from curator_dedup.folders import batch_for
from curator_dedup.fuzzy.documents import document_ids
from curator_dedup.fuzzy.sets import SHINGLES, sets_column, sets_of
from curator_dedup.fuzzy.signing import KEY, SigningOptions
from curator_dedup.fuzzy.tables import keys_of, numbers_column
from curator_dedup.mixing import Words
from curator_dedup.readings import Reading, TextFields, readings_of

ENTRIES, SETS = "entries", "sets"

MOST_KNOWN = 64
"""Maximum number of earlier documents per band that a document is compared with."""


@dataclass(frozen=True)
class IndexOptions(SigningOptions):
    """Options that must be equal for two crawls to be comparable."""

    verified: bool = True


@dataclass(frozen=True)
class Entries:
    """Sorted keys, one per document that has the key, and these documents."""

    keys: Words
    documents: Words

    def found(self, keys: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return for each key its first position, and how many entries have it."""
        first = np.searchsorted(self.keys, keys, "left")
        return first, np.searchsorted(self.keys, keys, "right") - first


def entries_in(
    parts: Sequence[FilePart],
    partitions: int,
    mine: Sequence[str] = (),
    storage_options: StorageOptions | None = None,
) -> Entries:
    """Return the index entries for a partition of keys, except those from the files in `mine`."""
    schema = pa.schema([("key", KEY), ("doc", KEY), ("origin", pa.string())])
    tables = [schema.empty_table()]
    for part in parts:
        tables.append(read_partition(part, partitions, schema.names, storage_options).cast(schema))
    table = pa.concat_tables(tables)
    own = pc.is_in(table["origin"], value_set=pa.array(mine, pa.string()))
    table = table.filter(pc.invert(own))
    keys, documents = keys_of(table["key"]), keys_of(table["doc"])
    order = np.lexsort((documents, keys))
    keys, documents = keys[order], documents[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (keys[1:] != keys[:-1]) | (documents[1:] != documents[:-1])
    return Entries(keys[fresh], documents[fresh])


@dataclass
class Remembering(ProcessingStage[FileGroup, DocumentBatch]):
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
        """Compile once per node, for all of its workers."""
        if is_compiled():
            self.options.signing.keys(["a"])

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Dropped]:
        inputs = inputs_of(task)
        block = block_id(inputs)
        duplicates = self._duplicates(block, decisions_of(task))
        found = _Remembered(block, self.options, with_sets=self.verified)
        for part in inputs:
            fields = TextFields(self.text_field)
            for reading in readings_of(part, fields, self.storage_options):
                gone = duplicates.get(part.path)
                found.add(part, reading if gone is None else _without(reading, gone))
        if not found.documents:
            yield Dropped("all known", 1)
            return
        entries = found.entries(once=not self.verified)
        yield batch_for(ENTRIES, entries, key="key", hashed=True, partitions=self.partitions)
        if self.verified:
            sets = found.sets()
            yield batch_for(SETS, sets, key="doc", hashed=True, partitions=self.partitions)

    def _duplicates(
        self, block: str, parts: Sequence[FilePart]
    ) -> dict[str, npt.NDArray[np.int64]]:
        """Return the rows that are not indexed, by file."""
        is_gone = "is_duplicate" if self.verified else "known"
        names = ["block", "file", "row", is_gone]
        found = rows_of_block(block, parts, self.partitions, names, self.storage_options)
        if found is None:
            return {}
        gone = found.filter(found[is_gone])
        files = gone["file"].cast(pa.string())
        return {
            path: gone.filter(pc.equal(files, path))["row"].to_numpy()
            for path in pc.unique(files).to_pylist()
        }


def _without(reading: Reading, rows: npt.NDArray[np.int64]) -> Reading:
    kept = np.flatnonzero(~np.isin(reading.positions, rows))
    return Reading(reading.positions[kept], [reading.texts[place] for place in kept])


class _Remembered:
    """The documents of a block that go into the index."""

    def __init__(self, block: str, options: SigningOptions, *, with_sets: bool) -> None:
        self._block = block
        self._signing = options.signing
        self._with_sets = with_sets
        self._keys: list[Words] = []
        self._documents: list[Words] = []
        self._origins: list[npt.NDArray[np.int32]] = []
        self._names: dict[str, int] = {}
        self._sets: list[npt.NDArray[np.uint32]] = []

    @property
    def documents(self) -> int:
        return sum(map(len, self._documents))

    def add(self, part: FilePart, reading: Reading) -> None:
        keys, known = self._signing.keys(reading.texts)
        rows = reading.positions[known]
        place = pa.array(np.zeros(len(rows), np.int32))
        table = pa.table({
            "block": pa.DictionaryArray.from_arrays(place, pa.array([self._block])),
            "file": pa.DictionaryArray.from_arrays(place, pa.array([part.path])),
            "row": rows,
        })  # fmt: skip
        origin = self._names.setdefault(fingerprint(part.path, part.version), len(self._names))
        self._keys.append(keys[known])
        self._documents.append(document_ids(table, np.arange(len(rows))))
        self._origins.append(np.full(len(rows), origin, np.int32))
        if self._with_sets:
            texts = [reading.texts[place] or "" for place in np.flatnonzero(known)]
            self._sets += sets_of(self._signing.shingling, texts)

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
        names = pa.array(list(self._names))
        return pa.table({
            "key": numbers_column(flat, KEY),
            "doc": numbers_column(documents, KEY),
            "origin": pa.DictionaryArray.from_arrays(pa.array(origins), names),
        })  # fmt: skip

    def sets(self) -> pa.Table:
        documents = numbers_column(np.concatenate(self._documents), KEY)
        return pa.table({"doc": documents, SHINGLES: sets_column(self._sets)})
