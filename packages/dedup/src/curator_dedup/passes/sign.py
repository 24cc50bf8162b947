"""Sign documents: the columns that every first pass writes to say which document a row is about."""

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import FilePart

from curator_dedup.columns import coded_column, constant_column
from curator_dedup.hashing import STEP, U64Array, mixed
from curator_dedup.input_fields import MissingFields
from curator_dedup.text_reader import TextBatch

TEXT, EMPTY, NO_RECORD = range(3)
"""Values of the column `state`: the document has a text (or a vector), has none, or the line is not
a record."""


class DocumentCounts(Counter[str]):
    """How many documents a pass has read, and how many of them cannot be compared."""

    def add(self, path: str, batch: TextBatch, *, empty: int) -> None:
        """Add a batch of documents of a file, some of which are empty."""
        self["documents"] += len(batch.texts)
        self["empty"] += empty
        self["no_records"] += len(batch.bad)
        self.update(MissingFields({path: batch.missing}).to_counts())


class DocumentRows:
    """Collects the columns block, file, row, state and, on demand, priority and origin.

    `row` is the byte where a line begins, or the row number in a Parquet file; `origin`
    identifies the version of the file, which an index needs.
    """

    def __init__(
        self, *, with_priority: bool, origin: Callable[[FilePart], str] | None = None
    ) -> None:
        self.count = 0
        self._with_priority = with_priority
        self._origin = origin
        self._files: dict[str, int] = {}
        self._origins: list[str] = []
        self._parts: list[tuple[npt.NDArray[Any], ...]] = []

    def add(
        self,
        part: FilePart,
        positions: npt.NDArray[np.int64],
        state: npt.NDArray[Any] | int,
        priorities: npt.NDArray[np.float64] | None = None,
        *,
        repeat: int = 1,
    ) -> None:
        """Add documents of a file, with `repeat` rows for each; no priority is the lowest."""
        count = len(positions)
        columns: tuple[npt.NDArray[Any], ...] = (
            np.full(count, self._file_code(part), np.int32),
            positions,
            np.broadcast_to(np.asarray(state, np.int8), count),
            np.full(count, -np.inf) if priorities is None else priorities,
        )
        if repeat > 1:
            columns = tuple(np.repeat(column, repeat) for column in columns)
        self._parts.append(columns)
        self.count += count * repeat

    def _file_code(self, part: FilePart) -> int:
        if part.path not in self._files:
            self._files[part.path] = len(self._files)
            if self._origin is not None:
                self._origins.append(self._origin(part))
        return self._files[part.path]

    def columns(self, block: str) -> dict[str, Any]:
        """Return the columns of all rows, which belong to one block."""
        files, rows, states, priorities = map(np.concatenate, zip(*self._parts, strict=True))
        columns = {
            "block": constant_column(block, self.count),
            "file": coded_column(files, list(self._files)),
            "row": rows,
            "state": states,
        }
        if self._origin is not None:
            columns["origin"] = coded_column(files, self._origins)
        if self._with_priority:
            columns["priority"] = priorities
        return columns


def document_ids(table: pa.Table, rows: npt.NDArray[np.int64]) -> U64Array:
    """Return 64-bit ids of some rows of a table with row and the dictionary columns block and file.

    Among a billion documents, the probability that two share an id is 3 %.
    """
    if not len(rows):
        return np.zeros(0, np.uint64)
    blocks, files = (table[name].combine_chunks() for name in ("block", "file"))
    places = blocks.indices.to_numpy()[rows].astype(np.int64) << 32
    places |= files.indices.to_numpy()[rows]
    distinct, which = np.unique(places, return_inverse=True)
    names = zip((distinct >> 32).tolist(), (distinct & 0xFFFFFFFF).tolist(), strict=True)
    bases = [_base(blocks.dictionary[b].as_py(), files.dictionary[f].as_py()) for b, f in names]
    inside = mixed(table["row"].to_numpy()[rows].astype(np.uint64) * STEP)
    return mixed(np.array(bases, np.uint64)[which] ^ inside)


def _base(block: str, file: str) -> int:
    raw = f"{block}\n{file}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little")
