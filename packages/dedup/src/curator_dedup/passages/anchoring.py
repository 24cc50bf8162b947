"""Anchoring: a first pass over long windows, which writes a few numbers for each document."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from curator_core import DocumentBatch, Dropped, FileGroup, ProcessingStage
from curator_core.io.filesystems import StorageOptions

from curator_dedup.blocks import block_id
from curator_dedup.mixing import Words
from curator_dedup.passages.documents import documents_of, named
from curator_dedup.passages.windows import PassageRule, chunks_of, windows_of

_HELD = 1 << 22


@dataclass
class AnchorCollecting(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the anchors of the windows of a block: anchor, block, count (at most 2)."""

    fans_out = True

    text_field: str
    rule: PassageRule
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        block = block_id(task.data)
        held: list[Words] = []
        size = 0
        for reading in documents_of(task.data, self.text_field, self.storage_options):
            for chunk in chunks_of(reading.texts):
                windows = windows_of(reading.texts[chunk], self.rule)
                if len(windows.firsts):
                    held.append(windows.anchors().places(windows.firsts))
                    size += len(held[-1])
                if size > _HELD:
                    yield _batch(block, held)
                    held, size = [], 0
        if size:
            yield _batch(block, held)


def _batch(block: str, held: list[Words]) -> DocumentBatch:
    values, counts = np.unique(np.concatenate(held), return_counts=True)
    columns = {
        "anchor": _column(values),
        "block": named(block, len(values)),
        "count": pa.array(np.minimum(counts, 2), pa.int8()),
    }
    return DocumentBatch(pa.table(columns))


def _column(values: Words) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(8), len(values), [None, pa.py_buffer(values.tobytes())]
    )


@dataclass
class AnchorCounting(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Return each block's anchors that occur elsewhere too: block and anchor."""

    fans_out = False

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        raw = table["anchor"].combine_chunks()
        values = np.frombuffer(raw.buffers()[1], np.uint64)[raw.offset : raw.offset + len(raw)]
        order = np.argsort(values, kind="stable")
        first = np.ones(len(order), np.bool_)
        first[1:] = values[order[1:]] != values[order[:-1]]
        starts = np.flatnonzero(first)
        totals = np.add.reduceat(table["count"].to_numpy()[order].astype(np.int64), starts)
        rows = order[(totals > 1)[np.cumsum(first) - 1]]
        if len(rows) < len(order):
            yield Dropped("nowhere else", len(order) - len(rows))
        if len(rows):
            yield DocumentBatch(table.select(["block", "anchor"]).take(pa.array(rows)))
