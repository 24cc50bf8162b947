"""Collecting: a pass that writes the hashes of all windows that may have a duplicate."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, FileGroup, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_dedup.blocks import block_id, decisions_of, inputs_of, rows_of_block
from curator_dedup.counting import COUNTS
from curator_dedup.digests import DIGEST
from curator_dedup.lacking import Lacking
from curator_dedup.mixing import Words, different
from curator_dedup.passages.documents import Documents, documents_of, named
from curator_dedup.passages.hashing import Indices
from curator_dedup.passages.windows import PassageRule, Windows, chunks_of, windows_of

_HELD = 1 << 20


@dataclass
class PassageCollecting(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the windows of a block.

    Columns: hash, block, file, row, index (the number of its first unit in the document) and count.
    Equal windows are merged, at the position of the first. Where windows are anchored, only those
    whose anchor is among the block's `anchors` are returned. A row without a hash represents a
    block without windows.
    """

    fans_out = True

    text_field: str
    rule: PassageRule
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        parts = inputs_of(task)
        known = self._anchors(task, block_id(parts)) if self.rule.is_anchored else None
        rows = _Rows(block_id(parts))
        for documents in documents_of(parts, self.text_field, self.storage_options):
            yield from documents.rejected
            rows.count(documents)
            for chunk in chunks_of(documents.texts):
                windows = windows_of(documents.texts[chunk], self.rule)
                rows.add(documents, chunk.start, windows, _chosen(windows, known))
                if rows.size > _HELD:
                    yield rows.batch()
        yield rows.batch()

    def _anchors(self, task: FileGroup, block: str) -> Words:
        found = rows_of_block(
            block, decisions_of(task), self.partitions, None, self.storage_options
        )
        if found is None:
            return np.zeros(0, np.uint64)
        column = found["anchor"].combine_chunks()
        words = np.frombuffer(column.buffers()[1], np.uint64)
        return different(words[column.offset : column.offset + len(column)])


def _chosen(windows: Windows, known: Words | None) -> npt.NDArray[np.bool_] | None:
    if known is None or not len(windows.firsts):
        return None
    if not len(known):
        return np.zeros(len(windows.firsts), np.bool_)
    values = windows.anchors().values()
    begins = np.ones(len(values), np.bool_)
    begins[1:] = values[1:] != values[:-1]  # neighbours mostly have the same anchor
    runs = values[begins]
    places = np.minimum(np.searchsorted(known, runs), len(known) - 1)
    return np.asarray((known[places] == runs)[np.cumsum(begins) - 1])


class _Rows:
    """Collects windows."""

    def __init__(self, block: str) -> None:
        self._block = block
        self._held: list[tuple[str, Words, Indices, Indices]] = []
        self._counts: Counter[str] = Counter()
        self.size = 0

    def count(self, documents: Documents) -> None:
        self._counts["documents"] += len(documents.texts)
        self._counts["empty"] += sum(not text or text.isspace() for text in documents.texts)
        self._counts["no_records"] += documents.bad
        self._counts.update(Lacking({documents.path: documents.lacking}).to_counts())

    def add(
        self,
        documents: Documents,
        start: int,
        windows: Windows,
        chosen: npt.NDArray[np.bool_] | None,
    ) -> None:
        firsts = windows.firsts if chosen is None else windows.firsts[chosen]
        if not len(firsts):
            return
        units = windows.units
        rows = documents.positions[start + units.texts[firsts]]
        self._held.append((documents.path, windows.words(chosen), rows, units.numbers[firsts]))
        self.size += len(firsts)

    def batch(self) -> DocumentBatch:
        table = _table(self._block, self._held) if self._held else _nothing(self._block)
        told = {COUNTS: json.dumps(self._counts)}
        self._held, self.size = [], 0
        self._counts.clear()
        return DocumentBatch(table.replace_schema_metadata(told))


def _table(block: str, held: list[tuple[str, Words, Indices, Indices]]) -> pa.Table:
    words = np.concatenate([one[1] for one in held])
    firsts, counts = distinct(words)
    paths = {path: place for place, path in enumerate(dict.fromkeys(one[0] for one in held))}
    files = np.concatenate([np.full(len(one[1]), paths[one[0]], np.int32) for one in held])
    columns = {
        "hash": digest_column(words[firsts]),
        "block": named(block, len(firsts)),
        "file": pa.DictionaryArray.from_arrays(pa.array(files[firsts]), pa.array(list(paths))),
        "row": np.concatenate([one[2] for one in held])[firsts],
        "index": np.concatenate([one[3] for one in held])[firsts],
        "count": counts,
    }
    return pa.table(columns)


def _nothing(block: str) -> pa.Table:
    zero = np.zeros(1, np.int64)
    return pa.table({"hash": pa.nulls(1, DIGEST), "block": named(block, 1), "file": named("", 1),
                     "row": zero, "index": zero, "count": zero})  # fmt: skip


def distinct(words: Words) -> tuple[Indices, Indices]:
    """Return the first of each group of equal hashes, and the size of the group."""
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.any(words[order[1:]] != words[order[:-1]], axis=1)
    starts = np.flatnonzero(begins)
    return order[starts], np.diff(starts, append=len(order))


def digest_column(words: Words) -> pa.Array:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(words).tobytes())]
    return pa.FixedSizeBinaryArray.from_buffers(DIGEST, len(words), buffers)
