"""Documents: a column of text for kernels, with a cache of what they counted in it."""

from collections.abc import Hashable
from typing import Protocol

import numpy as np
import pyarrow as pa

from curator_text.compiled.kernels import Array, kernel
from curator_text.compiled.utf8 import without_spaces


class Subject(Protocol):
    """Something that can be counted in texts."""

    def count(self, documents: "Documents", rows: Array) -> Array:
        """Count in these rows. The result has a place for every row of the column."""

    def __hash__(self) -> int: ...


class Documents:
    """A column of valid UTF-8 in one chunk. Each subject is counted only once."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.array = _in_one_piece(column)
        self.starts, self.ends = _spans_of(self.array)
        buffer = self.array.buffers()[2]
        self.data = np.frombuffer(buffer, np.uint8) if buffer else np.zeros(1, np.uint8)
        self._known: dict[Hashable, Array] = {}

    def __len__(self) -> int:
        return len(self.array)

    def blank(self) -> Array:
        """Return which rows are missing, empty, or only white space."""
        found = np.zeros(len(self), np.bool_)
        find_blank(self.data, self.starts, self.ends, found)
        if self.array.null_count:
            found |= np.asarray(self.array.is_null().to_numpy(zero_copy_only=False))
        return found

    def counts(self, subject: Subject, rows: Array) -> Array:
        """Return the counts of these rows. The first call must include all rows of later calls."""
        known = self._known.get(subject)
        if known is None:
            known = self._known[subject] = subject.count(self, rows)
        return known[rows]

    def texts(self, rows: Array) -> list[str]:
        """Return the texts of some rows as strings."""
        return list(self.array.take(pa.array(rows, pa.int64())).to_pylist())


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
