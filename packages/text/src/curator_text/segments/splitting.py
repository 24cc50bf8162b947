"""Splitting documents into segments, one row each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, InputError, ProcessingStage
from curator_core.model.arrow import rows_at, with_column

from curator_text.text_columns import text_column


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
            yield "separator is empty, so it separates nothing"
        if self.segment_id_field == self.text_field:
            yield f"segment_id_field is {self.text_field!r}, the column that holds the text"

    def inputs(self) -> Sequence[str]:
        return (self.text_field,)

    def outputs(self) -> Sequence[str]:
        return (self.segment_id_field,)

    def process(self, task: DocumentBatch) -> DocumentBatch:
        if self.segment_id_field in task.data.column_names:
            raise InputError(
                f"there is a column {self.segment_id_field!r} already; "
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
        return task.with_data(table.append_column(self.segment_id_field, _places(rows)))


def _places(rows: pa.Array) -> pa.Array:
    """Number equal consecutive values from 0."""
    places: list[int] = []
    before, place = -1, 0
    for row in rows.to_pylist():
        place = place + 1 if row == before else 0
        before = row
        places.append(place)
    return pa.array(places, pa.int64())
