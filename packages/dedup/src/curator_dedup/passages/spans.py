"""Spans: the repeated passages of a text, and the text without them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from curator_core import FilePart
from curator_core.io.filesystems import StorageOptions

from curator_dedup.columns import words_in
from curator_dedup.hashing import U64Array
from curator_dedup.passages.windows import PassageRule, Windows, chunk_texts, find_windows
from curator_dedup.passes.group import Indices, Mask, run_starts
from curator_dedup.passes.list import read_block_rows

KeepPassages: TypeAlias = Literal["first", "none", "mark"]
"""Which occurrences of a repeated passage to keep: the first, none, or all of them, with the later
ones marked."""

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class RepeatedSpan:
    """A repeated passage, and the larger span to cut out with it."""

    passage: Span
    cut: Span


@dataclass(frozen=True)
class BlockRepeats:
    """The repeated windows of a block, sorted by hash."""

    words: U64Array
    is_here: Mask
    rows: Indices
    numbers: Indices
    paths: pa.ChunkedArray

    @classmethod
    def read(
        cls,
        block: str,
        parts: Sequence[FilePart],
        partitions: int,
        storage_options: StorageOptions | None,
    ) -> "BlockRepeats | None":
        rows = read_block_rows(block, parts, partitions, None, storage_options)
        if rows is None:
            return None
        table = rows.combine_chunks()
        words = words_in(table["hash"])
        order = np.lexsort((words[:, 1], words[:, 0]))
        paths = pc.cast(table["first_file"], pa.string()).take(pa.array(order))
        no_file = np.zeros(len(order), np.bool_)
        places = [table[name].to_numpy()[order] for name in ("first_row", "first_index")]
        return cls(words[order], no_file, places[0], places[1], paths)

    def in_file(self, path: str) -> "BlockRepeats":
        """Return the same windows, with a mask of those whose first occurrence is in one file."""
        is_here = np.asarray(pc.equal(self.paths, path))
        return BlockRepeats(self.words, is_here, self.rows, self.numbers, self.paths)

    def find(self, words: U64Array) -> Indices:
        """Return for each window its index among the repeated ones, or -1."""
        places = np.searchsorted(self.words[:, 0], words[:, 0])
        found = np.full(len(words), -1, np.int64)
        pending = np.flatnonzero(places < len(self.words))
        while len(pending):  # one round, unless hashes share their first half
            at = places[pending]
            same = self.words[at, 0] == words[pending, 0]
            equal = same & (self.words[at, 1] == words[pending, 1])
            found[pending[equal]] = at[equal]
            pending = pending[same & ~equal]
            places[pending] += 1
            pending = pending[places[pending] < len(self.words)]
        return found


@dataclass(frozen=True)
class SpanFinder:
    """Find the repeated spans of texts."""

    rule: PassageRule
    repeats: BlockRepeats
    keep: KeepPassages

    def spans(
        self, texts: Sequence[str | None], positions: npt.NDArray[np.int64]
    ) -> dict[int, list[RepeatedSpan]]:
        """Return the spans of each text that has any, by the index of the text."""
        found: dict[int, list[RepeatedSpan]] = {}
        for chunk in chunk_texts(texts):
            windows = find_windows(texts[chunk], self.rule)
            if len(windows.firsts):
                repeated = self._repeated(windows, positions[chunk])
                for text, span in find_spans(windows, repeated):
                    found.setdefault(chunk.start + text, []).append(span)
        return found

    def first_place_of(self, text: str, span: RepeatedSpan) -> tuple[str, int] | None:
        """Return the file and row where the passage at the beginning of a span occurs first."""
        windows = find_windows([text], self.rule)
        starts = windows.units.starts[windows.firsts]
        at = np.searchsorted(starts, span.passage[0])
        if at == len(starts) or starts[at] != span.passage[0]:
            return None
        mask = np.arange(len(starts)) == at
        place = int(self.repeats.find(windows.hashes(mask))[0])
        if place < 0:
            return None
        return self.repeats.paths[place].as_py(), int(self.repeats.rows[place])

    def _repeated(self, windows: Windows, positions: npt.NDArray[np.int64]) -> Mask:
        """Return which units are in a repeated window, except those of its first occurrence."""
        places = self.repeats.find(windows.hashes())
        hits = np.flatnonzero(places >= 0)
        places, firsts = places[hits], windows.firsts[hits]
        units = windows.units
        starts, ends = firsts, firsts + windows.size
        if self.keep != "none":
            numbers = units.numbers[firsts]
            same = self.repeats.is_here[places]
            same = same & (self.repeats.rows[places] == positions[units.texts[firsts]])
            excess = self.repeats.numbers[places] + windows.size - numbers
            starts = np.where(same & (excess > 0), firsts + excess, firsts)
        count = len(units.starts) + 1
        steps = np.bincount(starts, minlength=count) - np.bincount(ends, minlength=count)
        return np.asarray(np.cumsum(steps)[:-1] > 0)


def find_spans(windows: Windows, repeated: Mask) -> Iterator[tuple[int, RepeatedSpan]]:
    """Yield a span for each run of repeated units.

    The cut includes the whitespace after the run or, at the end of a text, before it.
    """
    units = windows.units
    owners = units.texts
    begins = np.flatnonzero(run_starts(repeated, owners))
    ends = np.append(begins[1:], len(repeated))
    for first, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if not repeated[first]:
            continue
        text = int(owners[first])
        base = int(units.edges[text])
        begin = int(units.starts[first])
        if end < len(owners) and owners[end] == text:
            stop = int(units.starts[end])
        else:
            stop = int(units.edges[text + 1])
            inside = first > 0 and owners[first - 1] == text
            begin = int(units.ends[first - 1]) if inside else base
        passage = (int(units.starts[first]) - base, int(units.ends[end - 1]) - base)
        yield text, RepeatedSpan(passage, (begin - base, stop - base))


def cut_spans(text: str, spans: Sequence[RepeatedSpan]) -> str:
    edges = [0, *(edge for span in spans for edge in span.cut), len(text)]
    return "".join(text[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2))
