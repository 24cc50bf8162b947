"""Joining segments into documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from curator_core import DocumentBatch, Dropped, ProcessingStage
from curator_core.model.arrow import rows_at, with_column

from curator_text.text_columns import as_texts, text_column

JOINED = "joined to a segment before it"


@dataclass
class _Joined:
    """The segments joined into one document so far, and their length."""

    row: int
    texts: list[str]
    length: int
    part: int

    def add(self, text: str, length: int) -> None:
        self.texts.append(text)
        self.length = length


@dataclass
class DocumentJoiner(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Joins all rows of a batch with the same id into one document, in segment order.

    It joins only within a batch: keep a document's segments in one batch, as `DocumentSplitter`
    does. Rows without an id are not joined, and missing texts add nothing. Other columns come from
    the first segment. Rows joined into another row count as dropped.
    """

    separator: str = "\n\n"
    """The text to insert between segments."""

    max_length: int | None = field(default=None, kw_only=True)
    """Maximum length of a document in characters; longer ones are split, with the same id. A single
    segment that is longer stays whole."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    segment_id_field: str = field(default="segment_id", kw_only=True)
    """The column that holds a segment's position in its document."""

    document_id_field: str = field(default="id", kw_only=True)
    """The column that identifies the document of a segment."""

    drop_segment_id_field: bool = field(default=True, kw_only=True)
    """Drop the segment column. If off, it numbers the documents joined from one id."""

    length_field: str | None = field(default=None, kw_only=True)
    """A column with segment lengths to add up, instead of counting characters."""

    def check(self) -> Iterable[str]:
        if self.max_length is not None and self.max_length < 1:
            yield f"max_length is {self.max_length}, but must be 1 or more"
        if self.length_field is not None and self.max_length is None:
            yield "length_field says how to count, but max_length does not say how far"

    def inputs(self) -> Sequence[str]:
        fields = (self.text_field, self.segment_id_field, self.document_id_field)
        return fields if self.length_field is None else (*fields, self.length_field)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None or not self.drop_segment_id_field:
            return before
        return before - {self.segment_id_field}

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        table = task.data
        joined = [made for rows in self._documents(table) for made in self._join(table, rows)]
        left = task.with_data(self._table(table, joined))
        gone = table.num_rows - len(joined)
        return [left, Dropped(JOINED, gone)] if gone else [left]

    def _documents(self, table: pa.Table) -> Iterable[list[int]]:
        """Return the rows of each document, in segment order."""
        documents: dict[Any, list[int]] = {}
        for row, name in enumerate(table.column(self.document_id_field).to_pylist()):
            documents.setdefault(("row", row) if name is None else name, []).append(row)
        places = table.column(self.segment_id_field).to_pylist()
        for rows in documents.values():
            rows.sort(key=lambda row: (places[row] is None, places[row] or 0))
        return documents.values()

    def _join(self, table: pa.Table, rows: Sequence[int]) -> Iterator[_Joined]:
        """Join the segments of one document into one or more documents."""
        making: _Joined | None = None
        for row in rows:
            text = table.column(self.text_field)[row].as_py()
            length = self._length(table, row, text)
            if making is None:
                making = _Joined(row, [] if text is None else [text], length, 0)
                continue
            if text is None:
                continue
            together = making.length + length + (len(self.separator) if making.texts else 0)
            if self.max_length is None or together <= self.max_length:
                making.add(text, together)
                continue
            yield making
            making = _Joined(row, [text], length, making.part + 1)
        if making is not None:
            yield making

    def _length(self, table: pa.Table, row: int, text: str | None) -> int:
        if text is None:
            return 0
        if self.length_field is None:
            return len(text)
        return int(table.column(self.length_field)[row].as_py() or 0)

    def _table(self, table: pa.Table, joined: Sequence[_Joined]) -> pa.Table:
        kind = text_column(table, self.text_field).type
        texts = [self.separator.join(made.texts) if made.texts else None for made in joined]
        made = rows_at(table, [made.row for made in joined])
        made = with_column(made, self.text_field, as_texts(texts, kind))
        if self.length_field is not None:
            lengths = pa.array([one.length for one in joined], pa.int64())
            made = with_column(made, self.length_field, lengths)
        if self.drop_segment_id_field:
            return made.drop_columns([self.segment_id_field])
        parts = pa.array([one.part for one in joined], pa.int64())
        return with_column(made, self.segment_id_field, parts)
