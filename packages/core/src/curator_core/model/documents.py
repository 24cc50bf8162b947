"""Batches of records as Arrow tables.

pyarrow is imported on first use: it imports numpy if that is installed, which takes longer than
importing all of the core.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from curator_core.model.optional_dependencies import notebook_view, to_data_frame
from curator_core.model.tasks import Dropped, Task

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SIZE = "curator_core.num_bytes"


@dataclass
class DocumentBatch(Task["pa.Table"]):
    """Records in an Arrow table, one per row."""

    item_name = "document"

    @property
    def num_items(self) -> int:
        return int(self.data.num_rows)

    @property
    def num_bytes(self) -> int:
        """Size of the table, cached because it is read often and slow for many chunks."""
        known = self.derived.get(_SIZE)
        if known is None or known[0]() is not self.data:
            known = self.derived[_SIZE] = (ref(self.data), int(self.data.nbytes))
        size: int = known[1]
        return size

    def columns(self) -> tuple[str, ...]:
        return tuple(self.data.column_names)

    @classmethod
    def from_pylist(cls, records: Iterable[Mapping[str, Any]], dataset_name: str = "") -> Self:
        import pyarrow as pa

        return cls(pa.Table.from_pylist(list(records)), dataset_name)

    @classmethod
    def from_pandas(cls, frame: "pd.DataFrame", dataset_name: str = "") -> Self:
        import pyarrow as pa

        return cls(pa.Table.from_pandas(frame, preserve_index=False), dataset_name)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the records as a data frame; requires pandas."""
        return to_data_frame(self.data)

    def _repr_html_(self) -> str | None:
        return notebook_view("batch", self)

    def describe_items(self) -> list[dict[str, Any]]:
        """Return the records, with invalid UTF-8 replaced."""
        try:
            return self.to_pylist()
        except UnicodeDecodeError:
            return _with_valid_texts(self.data).to_pylist()  # type: ignore[no-any-return]

    def to_pylist(self) -> list[dict[str, Any]]:
        return list(self.data.to_pylist())

    def keep(
        self, mask: "pa.BooleanArray | pa.ChunkedArray | Sequence[bool]", reason: str
    ) -> "list[Self | Dropped]":
        """Return the rows where `mask` is true, and a `Dropped` for the others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from curator_core.model.arrow import rows_where

        chosen = (
            mask if isinstance(mask, pa.Array | pa.ChunkedArray) else pa.array(mask, pa.bool_())
        )
        chosen = pc.fill_null(chosen, False)
        kept = rows_where(self.data, chosen)
        missing = self.data.num_rows - kept.num_rows
        if not missing:
            return [self]
        others = self._rows_where_not(chosen)
        return [self.with_data(kept), Dropped(reason, missing, others)]

    def _rows_where_not(self, mask: "pa.BooleanArray | pa.ChunkedArray") -> Callable[[], Self]:
        import pyarrow.compute as pc

        from curator_core.model.arrow import rows_where

        return lambda: self.with_data(rows_where(self.data, pc.invert(mask)))

    def take(self, rows: Sequence[int]) -> Self:
        """Return the batch with these rows, in the given order."""
        from curator_core.model.arrow import rows_at

        return self.with_data(rows_at(self.data, rows))

    def to_payload(self) -> bytes:
        import pyarrow as pa

        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, self.data.schema) as stream:
            stream.write_table(self.data)
        head = json.dumps({"dataset_name": self.dataset_name, "metadata": self.metadata}).encode()
        return len(head).to_bytes(8, "big") + head + sink.getvalue()

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        import pyarrow as pa

        end = 8 + int.from_bytes(payload[:8], "big")
        with pa.ipc.open_stream(payload[end:]) as stream:
            return cls(stream.read_all(), **json.loads(payload[8:end]))


def _with_valid_texts(table: "pa.Table") -> "pa.Table":
    import pyarrow as pa

    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            encoded = column.cast(pa.large_binary()).to_pylist()
            texts = [None if one is None else one.decode("utf-8", "replace") for one in encoded]
            columns.append(pa.array(texts, pa.large_string()))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)
