"""Splitting documents into segments, a row each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, InputError, ProcessingStage
from curator_core.model.arrow import rows_at, with_column

from curator_text.text_columns import text_column


@dataclass
class DocumentSplitter(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Makes a row of every part of a text. The parts of a batch stay in their batch.

    All other columns are repeated in each of the rows, so an id tells which belong together, as
    `DocumentJoiner` needs it. A text without the separator, also a missing one, stays one row.
    """

    separator: str
    """What stands between the parts, such as `"\\n\\n"` between paragraphs."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    segment_id_field: str = field(default="segment_id", kw_only=True)
    """A column for the place of the part in its document, counted from 0."""

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
        # A missing text has no parts, but is one row all the same.
        parts = pc.if_else(
            pc.is_valid(texts),
            pc.split_pattern(texts, self.separator),
            pa.scalar([None], pa.list_(texts.type)),
        )
        rows = pc.list_parent_indices(parts)
        # The whole text is not repeated for each of its parts: that may be more than there is room.
        others = with_column(task.data, self.text_field, pa.nulls(len(texts)))
        table = with_column(rows_at(others, rows), self.text_field, pc.list_flatten(parts))
        return task.with_data(table.append_column(self.segment_id_field, _places(rows)))


def _places(rows: pa.Array) -> pa.Array:
    """How many of the same number stand in a row before each."""
    places: list[int] = []
    before, place = -1, 0
    for row in rows.to_pylist():
        place = place + 1 if row == before else 0
        before = row
        places.append(place)
    return pa.array(places, pa.int64())
