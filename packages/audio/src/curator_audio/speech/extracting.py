"""Extraction: turn spans into rows with an offset in the source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected

from curator_audio.batches import DURATION, OFFSET, PATH, TEXT, AudioBatch
from curator_audio.entries import entries_in
from curator_audio.settling import dropped
from curator_audio.speech.finding import SPEECH_COLUMN

SEGMENT, SOURCE_TEXT = "segment", "source_text"


@dataclass
class SegmentExtractor(ProcessingStage[AudioBatch, AudioBatch]):
    """Make a row of each span in a column, with its `offset` and `duration`.

    Nothing is cut or decoded. `segment` numbers the rows of a recording. The text of the whole
    recording is moved to `source_text`, since it is not the text of a segment.
    """

    spans_field: str = SPEECH_COLUMN
    """Column of spans, each with start and end in seconds relative to the start of the row."""

    def inputs(self) -> Sequence[str]:
        return (PATH, self.spans_field)

    def outputs(self) -> Sequence[str]:
        return (OFFSET, DURATION, SEGMENT)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None:
            return None
        renamed = {SOURCE_TEXT if name == TEXT else name for name in before}
        return frozenset((renamed - {self.spans_field}) | set(self.outputs()))

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        found = entries_in(task, self.spans_field)
        rows: list[int] = []
        places: list[tuple[float, float, int]] = []
        for row, spans in enumerate(found.values):
            start = found.batch.start(row)
            for number, span in enumerate(spans):
                rows.append(row)
                places.append((start + span["start"], span["end"] - span["start"], number))
        yield from dropped(found.batch, [None if spans else "no spans" for spans in found.values])
        if rows:
            yield self._segments(found.batch, rows, places)
        yield from found.rejected

    def _segments(
        self, task: AudioBatch, rows: Sequence[int], places: Sequence[tuple[float, float, int]]
    ) -> AudioBatch:
        bare = task.with_table(task.data.drop_columns([self.spans_field]))  # split among segments
        table = bare.repeated(rows).data
        names = [SOURCE_TEXT if name == TEXT else name for name in table.column_names]
        starts, lengths, numbers = zip(*places, strict=True)
        columns: dict[str, Any] = {
            OFFSET: pa.array([round(start, 6) for start in starts], pa.float64()),
            DURATION: pa.array([round(length, 6) for length in lengths], pa.float64()),
            SEGMENT: pa.array(numbers, pa.int64()),
        }
        return task.with_table(table.rename_columns(names)).with_columns(columns)
