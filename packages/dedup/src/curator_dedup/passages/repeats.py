"""Find repeated passages: the windows of units that occur several times in a corpus.

Long windows take two more passes first: their anchors, a few numbers for each document, show which
windows can have a duplicate at all. Then the hashes of those windows are collected and compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, FileGroup, FilePart, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_dedup.columns import (
    DIGEST,
    binary_column,
    coded_column,
    constant_column,
    numbers_in,
    words_in,
)
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import with_counts
from curator_dedup.passages.windows import PassageRule, Windows, chunk_texts, find_windows
from curator_dedup.passes.decide import path_ranks
from curator_dedup.passes.group import Indices, Mask, rows_with_repeats, run_starts, sorted_unique
from curator_dedup.passes.list import block_id, extra_files, main_files, read_block_rows
from curator_dedup.passes.sign import DocumentCounts
from curator_dedup.text_reader import TextBatch, TextFields, read_texts

_MAX_ANCHORS, _MAX_WINDOWS = 1 << 22, 1 << 20
"""Numbers of anchors and windows that are held before they are written."""

_TIMES = "times: "
"""Prefix of the counts of windows that occur a given number of times."""


def read_in_order(
    parts: Sequence[FilePart], text_field: str, storage_options: StorageOptions | None
) -> Iterator[tuple[FilePart, TextBatch]]:
    """Yield the documents of a block in the order that decides which occurrence is first."""
    for part in in_order(parts):
        for batch in read_texts(part, TextFields(text_field), storage_options):
            yield part, batch


def in_order(parts: Sequence[FilePart]) -> list[FilePart]:
    """Sort by path, then position: the same order in every block and in the whole corpus."""
    return sorted(parts, key=lambda part: (part.path, part.start))


@dataclass
class AnchorCollecting(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the anchors of the windows of a block: anchor, block, count (at most 2)."""

    fans_out = True

    text_field: str
    rule: PassageRule
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch]:
        parts = main_files(task)
        block = block_id(parts)
        anchors: list[U64Array] = []
        size = 0
        for _, batch in read_in_order(parts, self.text_field, self.storage_options):
            for chunk in chunk_texts(batch.texts):
                windows = find_windows(batch.texts[chunk], self.rule)
                if len(windows.firsts):
                    anchors.append(windows.anchors().by_position(windows.firsts))
                    size += len(anchors[-1])
                if size > _MAX_ANCHORS:
                    yield _anchor_batch(block, anchors)
                    anchors, size = [], 0
        if size:
            yield _anchor_batch(block, anchors)


def _anchor_batch(block: str, anchors: list[U64Array]) -> DocumentBatch:
    values, counts = np.unique(np.concatenate(anchors), return_counts=True)
    columns = {
        "anchor": binary_column(values),
        "block": constant_column(block, len(values)),
        "count": pa.array(np.minimum(counts, 2), pa.int8()),
    }
    return DocumentBatch(pa.table(columns))


@dataclass
class AnchorCounting(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Return each block's anchors that occur elsewhere too: block and anchor."""

    fans_out = False

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.combine_chunks()
        values = numbers_in(table["anchor"])
        order = np.argsort(values, kind="stable")
        is_first = run_starts(values[order])
        counts = table["count"].to_numpy()[order].astype(np.int64)
        totals = np.add.reduceat(counts, np.flatnonzero(is_first))
        rows = order[(totals > 1)[np.cumsum(is_first) - 1]]
        if len(rows) < len(order):
            yield Dropped("nowhere else", len(order) - len(rows))
        if len(rows):
            yield DocumentBatch(table.select(["block", "anchor"]).take(pa.array(rows)))


@dataclass
class PassageCollecting(ProcessingStage[FileGroup, DocumentBatch]):
    """Return the windows of a block that may have a duplicate.

    Columns: hash, block, file, row, index (the number of its first unit in the document) and count.
    Equal windows are merged, at the position of the first. Where windows are anchored, only those
    whose anchor is among the block's candidates are returned. A row without a hash represents a
    block without windows.
    """

    fans_out = True

    text_field: str
    rule: PassageRule
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def process(self, task: FileGroup) -> Iterator[DocumentBatch | Rejected]:
        parts = main_files(task)
        block = block_id(parts)
        candidates = self._candidate_anchors(block, extra_files(task))
        table = _WindowTable(block)
        for part, batch in read_in_order(parts, self.text_field, self.storage_options):
            yield from batch.rejected
            table.count(part, batch)
            for chunk in chunk_texts(batch.texts):
                windows = find_windows(batch.texts[chunk], self.rule)
                chosen = None if candidates is None else _has_candidate(windows, candidates)
                table.add(part, batch.positions[chunk], windows, chosen)
                if table.size > _MAX_WINDOWS:
                    yield table.take_batch()
        yield table.take_batch()

    def _candidate_anchors(self, block: str, parts: Sequence[FilePart]) -> U64Array | None:
        """Return the sorted anchors of the block that occur elsewhere; None without anchors."""
        if not self.rule.is_anchored:
            return None
        found = read_block_rows(block, parts, self.partitions, None, self.storage_options)
        return (
            np.zeros(0, np.uint64) if found is None else sorted_unique(numbers_in(found["anchor"]))
        )


def _has_candidate(windows: Windows, candidates: U64Array) -> Mask | None:
    """Return which windows have a candidate as their anchor."""
    if not len(windows.firsts):
        return None
    if not len(candidates):
        return np.zeros(len(windows.firsts), np.bool_)
    values = windows.anchors().values()
    starts = run_starts(values)  # neighbours mostly have the same anchor
    runs = values[starts]
    places = np.minimum(np.searchsorted(candidates, runs), len(candidates) - 1)
    return np.asarray((candidates[places] == runs)[np.cumsum(starts) - 1])


class _WindowTable:
    """Collects the windows of a block."""

    def __init__(self, block: str) -> None:
        self.size = 0
        self._block = block
        self._windows: list[tuple[str, U64Array, Indices, Indices]] = []
        self._counts = DocumentCounts()

    def count(self, part: FilePart, batch: TextBatch) -> None:
        empty = sum(not text or text.isspace() for text in batch.texts)
        self._counts.add(part.path, batch, empty=empty)

    def add(
        self,
        part: FilePart,
        positions: npt.NDArray[np.int64],
        windows: Windows,
        chosen: Mask | None,
    ) -> None:
        """Add the chosen windows, or all, of some texts with these positions in a file."""
        firsts = windows.firsts if chosen is None else windows.firsts[chosen]
        if not len(firsts):
            return
        units = windows.units
        rows = positions[units.texts[firsts]]
        self._windows.append((part.path, windows.hashes(chosen), rows, units.numbers[firsts]))
        self.size += len(firsts)

    def take_batch(self) -> DocumentBatch:
        """Return the windows that were added since the last batch, with counts."""
        table = self._table() if self._windows else _no_windows(self._block)
        batch = DocumentBatch(with_counts(table, self._counts))
        self._windows, self.size = [], 0
        self._counts.clear()
        return batch

    def _table(self) -> pa.Table:
        paths, hashes, rows, indices = zip(*self._windows, strict=True)
        codes = {path: code for code, path in enumerate(dict.fromkeys(paths))}
        files = np.repeat([codes[path] for path in paths], [len(one) for one in hashes])
        words = np.concatenate(hashes)
        order = np.lexsort((words[:, 1], words[:, 0]))  # stable
        starts = np.flatnonzero(run_starts(words[order]))
        firsts = order[starts]
        return pa.table({
            "hash": binary_column(words[firsts]),
            "block": constant_column(self._block, len(firsts)),
            "file": coded_column(files[firsts], list(codes)),
            "row": np.concatenate(rows)[firsts],
            "index": np.concatenate(indices)[firsts],
            "count": np.diff(starts, append=len(order)),
        })  # fmt: skip


def _no_windows(block: str) -> pa.Table:
    zero = np.zeros(1, np.int64)
    return pa.table({
        "hash": pa.nulls(1, DIGEST), "block": constant_column(block, 1),
        "file": constant_column("", 1), "row": zero, "index": zero, "count": zero,
    })  # fmt: skip


@dataclass
class RepeatDeciding(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Return the windows that occur `min_count` times or more.

    Columns: hash, block, first_file, first_row and first_index (the position of the first
    occurrence) and count (the number of occurrences). One row per window and block.
    """

    fans_out = False

    min_count: int = 2

    def process(self, task: DocumentBatch) -> Iterator[DocumentBatch | Dropped]:
        table = task.data.filter(pc.is_valid(task.data["hash"])).combine_chunks()
        if not table.num_rows:
            yield Dropped("without windows", task.data.num_rows)
            return
        hashes = words_in(table["hash"])
        counts = table["count"].to_numpy()
        rows = _sort_by_hash(table, hashes, _candidate_rows(hashes, counts))
        is_first = run_starts(hashes[rows])
        groups, starts = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
        totals = np.add.reduceat(counts[rows], starts) if len(rows) else rows
        kept = np.flatnonzero((totals >= self.min_count)[groups])
        kept = kept[_once_per_block(groups[kept], _block_codes(table, rows[kept]))]
        if len(kept) < task.data.num_rows:
            yield Dropped("seldom", task.data.num_rows - len(kept))
        if not len(kept):
            return
        groups = groups[kept]
        first = table.select(["file", "row", "index"]).take(pa.array(rows[starts][groups]))
        columns = {
            "block": table["block"].take(pa.array(rows[kept])),
            "first_file": first["file"],
            "first_row": first["row"],
            "first_index": first["index"],
            "hash": binary_column(hashes[rows[kept]]),
            "count": pa.array(totals[groups]),
        }
        times = totals[np.unique(groups)]
        occurrences = {"repeated": len(times), "occurrences": int(times.sum())}
        repeats = with_counts(pa.table(columns), {**occurrences, **_count_times(times)})
        yield DocumentBatch(repeats)


def _count_times(totals: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return, for each number of occurrences, how many windows occur that often."""
    values, counts = np.unique(totals, return_counts=True)
    return {
        f"{_TIMES}{value}": number
        for value, number in zip(values.tolist(), counts.tolist(), strict=True)
    }


def times_in(counts: Mapping[str, int]) -> Counter[int]:
    """Return the same from the counts of a folder."""
    found = (
        (name.removeprefix(_TIMES), number) for name, number in counts.items() if _TIMES in name
    )
    return Counter({int(times): number for times, number in found})


def _candidate_rows(hashes: U64Array, counts: npt.NDArray[np.int64]) -> Indices:
    """Return rows that are repeated within a block, or share the first half of their hash."""
    is_candidate = counts > 1
    is_candidate[rows_with_repeats(hashes[:, 0])] = True
    return np.flatnonzero(is_candidate)


def _sort_by_hash(table: pa.Table, hashes: U64Array, rows: Indices) -> Indices:
    """Sort rows by their hashes, the first occurrence of each hash first."""
    chosen = table.select(["file", "row", "index"]).take(pa.array(rows))
    places = (chosen["index"].to_numpy(), chosen["row"].to_numpy(), path_ranks(chosen["file"]))
    return rows[np.lexsort([*places, hashes[rows, 1], hashes[rows, 0]])]


def _block_codes(table: pa.Table, rows: Indices) -> npt.NDArray[np.int64]:
    coded = table["block"].unify_dictionaries().combine_chunks()
    codes: npt.NDArray[np.int64] = coded.indices.to_numpy(zero_copy_only=False)
    return codes[rows]


def _once_per_block(groups: Indices, blocks: Indices) -> Indices:
    """Return the first row of each pair of a group and a block, in order."""
    order = np.lexsort((blocks, groups))
    return np.sort(order[run_starts(groups[order], blocks[order])])
