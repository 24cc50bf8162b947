"""Segments: split documents into one row per part, and join them again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, Dropped, InputError, ProcessingStage
from curator_core.model.arrow import rows_at, with_column

from curator_text.text_columns import text_column, to_text_column


@dataclass
class DocumentSplitter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Splits each text into parts, one row each.

    The parts of a batch stay in their batch. All other columns are repeated in each row, so an id
    shows which rows belong together, as `DocumentJoiner` needs. A missing text, or one without the
    separator, stays one row.
    """

    separator: str
    """The separator between parts, such as `"\\n\\n"` between paragraphs."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    segment_id_field: str = field(default="segment_id", kw_only=True)
    """A column for the part's position in its document, counted from 0."""

    def check(self) -> Iterable[str]:
        if not self.separator:
            yield "separator is empty, so it cannot split anything"
        if self.segment_id_field == self.text_field:
            yield f"segment_id_field is {self.text_field!r}, the column that holds the text"

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (self.segment_id_field,)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        if self.segment_id_field in task.data.column_names:
            raise InputError(
                f"the column {self.segment_id_field!r} already exists; "
                "name another one in segment_id_field"
            )
        texts = text_column(task.data, self.text_field).combine_chunks()
        # A missing text has no parts, but still gives one row.
        parts = pc.if_else(
            pc.is_valid(texts),
            pc.split_pattern(texts, self.separator),
            pa.scalar([None], pa.list_(texts.type)),
        )
        rows = pc.list_parent_indices(parts)
        # Drop the texts before repeating rows: copying each text per part could exhaust memory.
        others = with_column(task.data, self.text_field, pa.nulls(len(texts)))
        table = with_column(rows_at(others, rows), self.text_field, pc.list_flatten(parts))
        return task.with_data(table.append_column(self.segment_id_field, _number_parts(rows)))


def _number_parts(rows: pa.Array) -> pa.Array:
    """Number equal consecutive values from 0."""
    positions: list[int] = []
    before, position = -1, 0
    for row in rows.to_pylist():
        position = position + 1 if row == before else 0
        before = row
        positions.append(position)
    return pa.array(positions, pa.int64())


JOINED = "joined to a segment before it"


@dataclass
class _JoinedDocument:
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
            yield "length_field has no effect without max_length"

    def inputs(self) -> Sequence[str]:
        fields = (self.text_field, self.segment_id_field, self.document_id_field)
        return fields if self.length_field is None else (*fields, self.length_field)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None or not self.drop_segment_id_field:
            return before
        return before - {self.segment_id_field}

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        table = task.data
        joined = [
            document for rows in self._documents(table) for document in self._join(table, rows)
        ]
        kept = task.with_data(self._table(table, joined))
        num_dropped = table.num_rows - len(joined)
        return [kept, Dropped(JOINED, num_dropped)] if num_dropped else [kept]

    def _documents(self, table: pa.Table) -> Iterable[list[int]]:
        """Return the rows of each document, in segment order."""
        documents: dict[Any, list[int]] = {}
        for row, name in enumerate(table.column(self.document_id_field).to_pylist()):
            documents.setdefault(("row", row) if name is None else name, []).append(row)
        positions = table.column(self.segment_id_field).to_pylist()
        for rows in documents.values():
            rows.sort(key=lambda row: (positions[row] is None, positions[row] or 0))
        return documents.values()

    def _join(self, table: pa.Table, rows: Sequence[int]) -> Iterator[_JoinedDocument]:
        """Join the segments of one document into one or more documents."""
        current: _JoinedDocument | None = None
        for row in rows:
            text = table.column(self.text_field)[row].as_py()
            length = self._length(table, row, text)
            if current is None:
                current = _JoinedDocument(row, [] if text is None else [text], length, 0)
                continue
            if text is None:
                continue
            total = current.length + length + (len(self.separator) if current.texts else 0)
            if self.max_length is None or total <= self.max_length:
                current.add(text, total)
                continue
            yield current
            current = _JoinedDocument(row, [text], length, current.part + 1)
        if current is not None:
            yield current

    def _length(self, table: pa.Table, row: int, text: str | None) -> int:
        if text is None:
            return 0
        if self.length_field is None:
            return len(text)
        return int(table.column(self.length_field)[row].as_py() or 0)

    def _table(self, table: pa.Table, joined: Sequence[_JoinedDocument]) -> pa.Table:
        kind = text_column(table, self.text_field).type
        texts = [
            self.separator.join(document.texts) if document.texts else None for document in joined
        ]
        result = rows_at(table, [document.row for document in joined])
        result = with_column(result, self.text_field, to_text_column(texts, kind))
        if self.length_field is not None:
            lengths = pa.array([document.length for document in joined], pa.int64())
            result = with_column(result, self.length_field, lengths)
        if self.drop_segment_id_field:
            return result.drop_columns([self.segment_id_field])
        parts = pa.array([document.part for document in joined], pa.int64())
        return with_column(result, self.segment_id_field, parts)
