"""Chosen rows: a batch after filtering, whose rows are copied only when its data is read.

Without this, each of several filters in sequence would copy all the rows that it keeps.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch
from curator_core.model.arrow import rows_where, with_column

from curator_text.text_columns import pieces_of, text_column

T = TypeVar("T")


class Rows:
    """Some rows of a table, or all of them if `chosen` is None."""

    def __init__(self, table: pa.Table, chosen: pa.ChunkedArray | None = None) -> None:
        self.table = table
        self.chosen = chosen
        self._copy: pa.Table | None = None

    def copied(self) -> pa.Table:
        """Return a table with only these rows; it is built once."""
        if self.chosen is None:
            return self.table
        if self._copy is None:
            self._copy = rows_where(self.table, self.chosen)
        return self._copy

    def only(self, mask: pa.ChunkedArray) -> "Rows":
        """Return these rows, reduced to those where `mask` is true; it covers the whole table."""
        return Rows(self.table, mask if self.chosen is None else pc.and_(self.chosen, mask))

    def without(self, others: "Rows") -> pa.ChunkedArray:
        """Return the table positions of the rows that are not in `others`."""
        missing = pc.invert(others.chosen)
        return pc.indices_nonzero(missing if self.chosen is None else pc.and_(self.chosen, missing))

    def rank(self, place: int) -> int:
        """Count these rows before a position in the table."""
        return place if self.chosen is None else int(pc.sum(self.chosen[:place]).as_py() or 0)

    def with_column(self, name: str, values: pa.ChunkedArray) -> "Rows":
        """Return the same rows with another column; `values` covers the whole table."""
        return Rows(with_column(self.table, name, values), self.chosen)

    def texts(self, name: str) -> Iterator[pa.ChunkedArray]:
        """Yield a text column in pieces of a few megabytes, with null for other rows."""
        start = 0
        for piece in pieces_of(text_column(self.table, name)):
            if self.chosen is not None:
                chosen = self.chosen.slice(start, len(piece))
                start += len(piece)
                piece = pc.if_else(chosen, piece, None)
            yield piece

    def __len__(self) -> int:
        if self.chosen is None:
            return int(self.table.num_rows)
        return int(pc.sum(self.chosen).as_py() or 0)


class ChosenRows(DocumentBatch):
    """A batch of chosen rows. Pickling turns it into an ordinary batch."""

    def __init__(self, rows: Rows, like: DocumentBatch) -> None:
        vars(self).update({**vars(like), "derived": {}, "metadata": dict(like.metadata)})
        vars(self).pop("data", None)
        self.before: DocumentBatch = like.before if isinstance(like, ChosenRows) else like
        self.rows = rows
        self._items = len(rows)
        self._bytes = like.num_bytes * self._items // max(1, like.num_items)

    @property
    def data(self) -> pa.Table:
        return self.rows.copied()

    @property
    def num_items(self) -> int:
        return self._items

    @property
    def num_bytes(self) -> int:
        """Estimate the size from the share of rows kept: the exact size would need a copy."""
        return self._bytes

    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows.table.column_names)

    def with_data(self, data: pa.Table) -> DocumentBatch:  # type: ignore[override]
        """Return an ordinary batch, of the original batch's type."""
        changed = self.before.with_data(data)
        for name in ("dataset_name", "metadata", "task_id", "lineage", "timings", "staged"):
            setattr(changed, name, getattr(self, name))
        return changed

    @property
    def stored_type(self) -> type[DocumentBatch]:
        return type(self.before)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.with_data(self.data),)


def rows_of(task: DocumentBatch) -> Rows:
    """Return the rows of a batch without copying them."""
    return task.rows if isinstance(task, ChosenRows) else Rows(task.data)


def _unpacked(batch: T) -> T:
    return batch
