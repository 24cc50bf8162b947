"""What kernels count in a column of text; each count is made once for all rules that use it."""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from curator_text.compiled import blocks, characters, lines, ngrams, phrases, words
from curator_text.compiled.kernels import Array, kernel
from curator_text.compiled.utf8 import character_flags, without_spaces


class TextBuffer:
    """A column of valid UTF-8 as one buffer for kernels."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.array = _in_one_piece(column)
        self.starts, self.ends = _spans_of(self.array)
        buffer = self.array.buffers()[2]
        self.data = np.frombuffer(buffer, np.uint8) if buffer else np.zeros(1, np.uint8)
        # Numba compiles each kernel once more for read-only arrays, such as those of columns that
        # are mapped from an object store.
        self.data.flags.writeable = False
        self._texts: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.array)

    def blank(self) -> Array:
        """Return which rows are missing, empty, or only white space."""
        found = np.zeros(len(self), np.bool_)
        find_blank(self.data, self.starts, self.ends, found)
        if self.array.null_count:
            found |= np.asarray(self.array.is_null().to_numpy(zero_copy_only=False))
        return found

    @cached_property
    def bytes(self) -> bytes:
        """All texts as one byte string."""
        return self.data.tobytes()

    def texts(self, rows: Array) -> list[str]:
        """Return the texts of some rows as strings; each is decoded once."""
        new = [row for row in rows.tolist() if row not in self._texts]
        strings = self.array.take(pa.array(new, pa.int64())).to_pylist()
        self._texts.update(zip(new, strings, strict=True))
        return [self._texts[row] for row in rows.tolist()]


class ColumnCounts:
    """Counts in the rows of a buffer that are left. `rows` may only shrink."""

    def __init__(self, buffer: TextBuffer, ngram_lengths: Sequence[int]) -> None:
        self.buffer = buffer
        self.rows = np.arange(0)
        self._ngram_lengths = tuple(sorted(set(ngram_lengths)))
        self._known: dict[Hashable, Array] = {}

    def characters(self) -> Array:
        return self._count(characters.fill_characters, (characters.WIDTH,))

    def words(self, stop_words: tuple[str, ...] = ()) -> Array:
        tables = (character_flags(), words.pack_words(stop_words))
        return self._count(words.fill_words, (words.WIDTH,), stop_words, tables)

    def lines(self) -> Array:
        return self._count(lines.fill_lines, (lines.WIDTH,))

    def split_lines(self) -> Array:
        return self._count(lines.fill_split_lines, (lines.SPLIT_WIDTH,))

    def boilerplate(self, groups: phrases.PhraseGroups) -> Array:
        table = phrases.build_phrases(groups)
        return self._count(phrases.fill_boilerplate, (phrases.WIDTH,), groups, table)

    def blocks(self, kind: int) -> Array:
        return self._count(blocks.fill_blocks, (blocks.WIDTH,), kind, kind)

    def ngrams(self, lengths: tuple[int, ...]) -> Array:
        shape = (len(lengths), ngrams.WIDTH)
        return self._count(ngrams.fill_ngrams, shape, lengths, np.array(lengths, np.int64))

    def ngrams_of_length(self, length: int) -> Array:
        """Count n-grams of one length, in one search for all rules of the column."""
        found: Array = self.ngrams(self._ngram_lengths)[:, self._ngram_lengths.index(length)]
        return found

    def occurrences(self, position: int, start: int, end: int) -> int:
        """Count how often the words in a span occur in their text, with single spaces."""
        row, buffer = self.rows[position], self.buffer
        phrase = " ".join(buffer.bytes[start:end].decode().split()).encode()
        return buffer.bytes.count(phrase, buffer.starts[row], buffer.ends[row])

    def _count(
        self,
        fill: Callable[..., None],
        shape: tuple[int, ...],
        key: Hashable = None,
        *options: Any,
    ) -> Array:
        known = self._known.get((fill, key))
        if known is None:
            buffer = self.buffer
            known = self._known[fill, key] = np.zeros((len(buffer), *shape), np.int64)
            fill(buffer.data, buffer.starts, buffer.ends, self.rows, *options, known)
        return known[self.rows]


@kernel
def find_blank(data: Array, starts: Array, ends: Array, out: Array) -> None:
    for row in range(len(starts)):
        first, last = without_spaces(data, starts[row], ends[row])
        out[row] = first >= last


def _in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.type == pa.string() and column.nbytes >= 2**31:
        column = column.cast(pa.large_string())  # 32-bit offsets reach 2 GiB only
    return column.combine_chunks()


def _spans_of(array: pa.Array) -> tuple[Array, Array]:
    """Return where each text begins and ends in the buffer."""
    if not len(array):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = np.frombuffer(array.buffers()[1], kind)
    offsets = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return offsets[:-1].copy(), offsets[1:].copy()
