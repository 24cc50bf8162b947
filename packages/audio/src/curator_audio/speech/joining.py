"""Joining and splitting: change segments by their times in the source, without decoding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected

from curator_audio.batches import DURATION, OFFSET, PATH, AudioBatch
from curator_audio.entries import Entry, entries_in, with_entries
from curator_audio.opening import UndecodableError

PARTS = "parts"
"""Column with the place of each concatenated segment in the source."""

JOINED = "joined with another segment"
"""Reason under which rows are counted that were merged into another one."""


@dataclass
class SegmentJoiner(ProcessingStage[AudioBatch, AudioBatch]):
    """Join neighbouring segments of a recording, including the pause between them.

    Other columns are those of the first segment; `joined` counts the joined segments. All segments
    of a recording must be in one batch. SegmentExtractor makes such batches, and so does
    ManifestReader if the segments are consecutive in one manifest. Other batches are an error.
    """

    max_gap: float = 0.5
    """Longest pause to join over, in seconds."""

    max_duration: float = 30.0
    """Maximum duration of a joined segment, in seconds."""

    def check(self) -> Iterator[str]:
        if self.max_gap < 0:
            yield f"max_gap is {self.max_gap:g}, but must be 0 or more"
        if self.max_duration <= 0:
            yield f"max_duration is {self.max_duration:g}, but must be more than 0"

    def inputs(self) -> Sequence[str]:
        return (PATH, OFFSET, DURATION)

    def outputs(self) -> Sequence[str]:
        return ("joined",)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        task.refuse_scattered()
        task, rejected = task.valid_rows()
        yield from rejected
        groups = list(self._groups(task))
        spans = [
            (task.span(group[0]).start, max(task.span(r).end for r in group)) for group in groups
        ]
        columns: dict[str, Any] = {
            DURATION: pa.array([round(end - start, 6) for start, end in spans], pa.float64()),
            "joined": pa.array([len(group) for group in groups], pa.int64()),
        }
        if groups:
            yield task.take([group[0] for group in groups]).with_columns(columns)
        if gone := task.num_items - len(groups):
            yield Dropped(JOINED, gone)

    def _groups(self, task: AudioBatch) -> Iterator[list[int]]:
        order = sorted(range(task.num_items), key=lambda r: (task.source_key(r), task.start(r)))
        group: list[int] = []
        for row in order:
            if group and not self._fits(task, group, row):
                yield group
                group = []
            group.append(row)
        if group:
            yield group

    def _fits(self, task: AudioBatch, group: Sequence[int], row: int) -> bool:
        if task.source_key(group[0]) != task.source_key(row):
            return False
        end = max(task.span(member).end for member in group)
        span = task.span(row)
        length = max(end, span.end) - task.span(group[0]).start
        return span.start - end <= self.max_gap and length <= self.max_duration


@dataclass
class LongSplitter(ProcessingStage[AudioBatch, AudioBatch]):
    """Split long rows into equal segments, each with its `offset` in the source.

    Uses the column `duration`; measure it first if the manifest may be wrong.
    """

    max_duration: float = 3600.0
    """Maximum duration of a row, in seconds."""

    def check(self) -> Iterator[str]:
        if self.max_duration <= 0:
            yield f"max_duration is {self.max_duration:g}, but must be more than 0"

    def inputs(self) -> Sequence[str]:
        return (PATH, DURATION)

    def outputs(self) -> Sequence[str]:
        return (OFFSET, "part")

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        lengths: dict[int, float] = {}
        failed: dict[int, Exception] = {}
        for row in range(task.num_items):
            try:
                task.start(row)
                lengths[row] = _finite(task.given_duration(row) or 0.0)
            except UndecodableError as error:
                failed[row] = error
        batch, rejected = task.without(failed)
        yield from rejected
        if lengths:
            yield self._split(batch, list(lengths.values()))

    def _split(self, task: AudioBatch, durations: Sequence[float]) -> AudioBatch:
        rows, places = [], []
        for row, seconds in enumerate(durations):
            parts = max(1, ceil(seconds / self.max_duration))
            for part in range(parts):
                rows.append(row)
                start = None if parts == 1 else task.start(row) + part * seconds / parts
                places.append((start, None if parts == 1 else seconds / parts, part))
        taken = task.repeated(rows)
        given = [(taken.given_offset(row), taken.given_duration(row)) for row in range(len(rows))]
        starts = [
            old[0] if new[0] is None else new[0] for old, new in zip(given, places, strict=True)
        ]
        lengths = [
            old[1] if new[1] is None else new[1] for old, new in zip(given, places, strict=True)
        ]
        return taken.with_columns(
            {
                OFFSET: pa.array(starts, pa.float64()),
                DURATION: pa.array(lengths, pa.float64()),
                "part": pa.array([place[2] for place in places], pa.int64()),
            }
        )


def _finite(seconds: float) -> float:
    if not isfinite(seconds):
        raise UndecodableError(f"{DURATION} is {seconds}, which is no length")
    return seconds


@dataclass
class TimestampMapper(ProcessingStage[AudioBatch, AudioBatch]):
    """Convert times relative to a segment to times relative to its source.

    For concatenated segments, `parts` is used.
    """

    times_field: str = "words"
    """Column of lists, whose entries have start and end in seconds."""

    def inputs(self) -> Sequence[str]:
        return (self.times_field,)

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Rejected]:
        if PARTS in task.columns():
            read = entries_in(task, PARTS, ("offset",))
            yield from read.rejected
            task = read.batch
        found = entries_in(task, self.times_field)
        batch = found.batch
        parts: list[list[Entry]] = [[]] * batch.num_items
        if PARTS in batch.columns():
            parts = entries_in(batch, PARTS).values
        missing = batch.data.column(self.times_field).is_null().to_pylist()
        shifted = [
            None
            if missing[row]
            else [_shifted(entry, _shift(entry, parts[row], batch.start(row))) for entry in entries]
            for row, entries in enumerate(found.values)
        ]
        yield with_entries(batch, self.times_field, shifted)
        yield from found.rejected


def _shift(entry: Entry, parts: Sequence[Entry], start: float) -> float:
    """Return the shift of the last part that begins before the middle of the entry."""
    middle = (entry["start"] + entry["end"]) / 2
    known = [part for part in parts if part["start"] <= middle]
    return float(known[-1]["offset"] - known[-1]["start"]) if known else start


def _shifted(entry: Entry, seconds: float) -> Entry:
    times = {name: round(entry[name] + seconds, 6) for name in ("start", "end")}
    return {**entry, **times}
