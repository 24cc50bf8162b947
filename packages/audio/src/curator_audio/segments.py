"""Segments: make them from spans, join, split and concatenate them, and map times to the source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions

from curator_audio.audio_batch import (
    AUDIO,
    DURATION,
    GAIN,
    OFFSET,
    PARTS,
    PATH,
    SOURCE,
    SPEECH_COLUMN,
    TEXT,
    AudioBatch,
)
from curator_audio.container import UndecodableError
from curator_audio.encoding import encode
from curator_audio.row_selection import drop_rows
from curator_audio.timed_entries import Entry, read_entries, with_entries
from curator_audio.waveform import AudioFormat, Waveform
from curator_audio.writers.encoder import segment_name

if TYPE_CHECKING:
    from curator_audio.waveform import Samples

SEGMENT, SOURCE_TEXT = "segment", "source_text"

JOINED = "joined with another segment"
"""Reason under which rows are counted that were merged into another one."""


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
        found = read_entries(task, self.spans_field)
        rows: list[int] = []
        cuts: list[tuple[float, float, int]] = []
        for row, spans in enumerate(found.values):
            start = found.batch.start(row)
            for number, span in enumerate(spans):
                rows.append(row)
                cuts.append((start + span["start"], span["end"] - span["start"], number))
        yield from drop_rows(found.batch, [None if spans else "no spans" for spans in found.values])
        if rows:
            yield self._segments(found.batch, rows, cuts)
        yield from found.rejected

    def _segments(
        self, task: AudioBatch, rows: Sequence[int], cuts: Sequence[tuple[float, float, int]]
    ) -> AudioBatch:
        bare = task.with_table(task.data.drop_columns([self.spans_field]))  # split among segments
        table = bare.repeat_rows(rows).data
        names = [SOURCE_TEXT if name == TEXT else name for name in table.column_names]
        starts, lengths, numbers = zip(*cuts, strict=True)
        columns: dict[str, Any] = {
            OFFSET: pa.array([round(start, 6) for start in starts], pa.float64()),
            DURATION: pa.array([round(length, 6) for length in lengths], pa.float64()),
            SEGMENT: pa.array(numbers, pa.int64()),
        }
        return task.with_table(table.rename_columns(names)).with_columns(columns)


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
        task.check_not_scattered()
        task, rejected = task.reject_invalid_rows()
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
        if joined := task.num_items - len(groups):
            yield Dropped(JOINED, joined)

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
                lengths[row] = _finite(task.duration(row) or 0.0)
            except UndecodableError as error:
                failed[row] = error
        batch, rejected = task.reject_rows(failed)
        yield from rejected
        if lengths:
            yield self._split(batch, list(lengths.values()))

    def _split(self, task: AudioBatch, durations: Sequence[float]) -> AudioBatch:
        rows, cuts = [], []
        for row, seconds in enumerate(durations):
            parts = max(1, ceil(seconds / self.max_duration))
            for part in range(parts):
                rows.append(row)
                start = None if parts == 1 else task.start(row) + part * seconds / parts
                cuts.append((start, None if parts == 1 else seconds / parts, part))
        taken = task.repeat_rows(rows)
        given = [(taken.offset(row), taken.duration(row)) for row in range(len(rows))]
        starts = [
            old[0] if new[0] is None else new[0] for old, new in zip(given, cuts, strict=True)
        ]
        lengths = [
            old[1] if new[1] is None else new[1] for old, new in zip(given, cuts, strict=True)
        ]
        return taken.with_columns(
            {
                OFFSET: pa.array(starts, pa.float64()),
                DURATION: pa.array(lengths, pa.float64()),
                "part": pa.array([cut[2] for cut in cuts], pa.int64()),
            }
        )


def _finite(seconds: float) -> float:
    if not isfinite(seconds):
        raise UndecodableError(f"{DURATION} is {seconds}, which is not a length")
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
            read = read_entries(task, PARTS, ("offset",))
            yield from read.rejected
            task = read.batch
        found = read_entries(task, self.times_field)
        batch = found.batch
        parts: list[list[Entry]] = [[]] * batch.num_items
        if PARTS in batch.columns():
            parts = read_entries(batch, PARTS).values
        missing = batch.data.column(self.times_field).is_null().to_pylist()
        shifted = [
            None
            if missing[row]
            else [_move(entry, _shift(entry, parts[row], batch.start(row))) for entry in entries]
            for row, entries in enumerate(found.values)
        ]
        yield with_entries(batch, self.times_field, shifted)
        yield from found.rejected


def _shift(entry: Entry, parts: Sequence[Entry], start: float) -> float:
    """Return the shift of the last part that begins before the middle of the entry."""
    middle = (entry["start"] + entry["end"]) / 2
    earlier = [part for part in parts if part["start"] <= middle]
    return float(earlier[-1]["offset"] - earlier[-1]["start"]) if earlier else start


def _move(entry: Entry, seconds: float) -> Entry:
    times = {name: round(entry[name] + seconds, 6) for name in ("start", "end")}
    return {**entry, **times}


_PARTS_TYPE = pa.list_(
    pa.struct([("start", pa.float64()), ("end", pa.float64()), ("offset", pa.float64())])
)
"""Start and end of each part within the row, and the offset of its start in the source."""


@dataclass
class SegmentConcatenator(ProcessingStage[AudioBatch, AudioBatch]):
    """Concatenate the segments of a recording in order, with silence between them.

    The result is stored in `audio` as FLAC. `parts` maps it to cuts in the source, for
    TimestampMapper. Other columns are those of the first segment. All segments of a recording must
    be in one batch, as for SegmentJoiner.
    """

    gap: float = 0.5
    """Seconds of silence between segments."""

    max_duration: float = 30.0
    """Maximum duration of a result, in seconds. A longer single segment is kept whole."""

    sample_rate: int = 16_000
    """Sample rate of the result, in Hz."""

    storage_options: StorageOptions | None = field(default=None, repr=False)
    """Options of fsspec for an object store. Take keys from ${secret:NAME}."""

    def check(self) -> Iterator[str]:
        if self.gap < 0:
            yield f"gap is {self.gap:g}, but must be 0 or more"
        if self.max_duration <= 0:
            yield f"max_duration is {self.max_duration:g}, but must be more than 0"
        yield from self.audio_format.problems()

    @property
    def audio_format(self) -> AudioFormat:
        return AudioFormat(self.sample_rate, "mono", "best")

    def inputs(self) -> Sequence[str]:
        return (PATH, OFFSET, DURATION)

    def outputs(self) -> Sequence[str]:
        return (AUDIO, PARTS, SOURCE)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None if before is None else (before - {OFFSET, GAIN}) | set(self.outputs())

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        task.check_not_scattered()
        decoded = task.waveforms(self.audio_format, self.storage_options)
        batch = decoded.batch
        groups = list(self._groups(batch, decoded.values))
        if groups:
            yield self._concatenate_groups(batch, decoded.values, groups)
        if joined := batch.num_items - len(groups):
            yield Dropped(JOINED, joined)
        yield from decoded.rejected

    def _groups(self, batch: AudioBatch, waves: Sequence[Waveform]) -> Iterator[list[int]]:
        """Yield groups of rows of one source that fit into the maximum duration."""
        order = sorted(range(batch.num_items), key=lambda r: (batch.source_key(r), batch.start(r)))
        for _, rows in groupby(order, key=batch.source_key):
            group: list[int] = []
            length = 0.0
            for row in rows:
                seconds = waves[row].seconds
                if group and length + self.gap + seconds > self.max_duration:
                    yield group
                    group, length = [], 0.0
                length += seconds + (self.gap if group else 0.0)
                group.append(row)
            yield group

    def _concatenate_groups(
        self, batch: AudioBatch, waves: Sequence[Waveform], groups: Sequence[Sequence[int]]
    ) -> AudioBatch:
        made = [self._concatenate(batch, waves, group) for group in groups]
        firsts = [group[0] for group in groups]
        taken = batch.with_data(batch.data.take(pa.array(firsts, pa.int64())))
        paths = taken.data.column(PATH).to_pylist()
        names = [
            f"{segment_name(str(path), parts[0]['offset'], wave.seconds)}.flac"
            for path, (wave, parts) in zip(paths, made, strict=True)
        ]
        columns: dict[str, Any] = {
            PATH: pa.array(names, pa.string()),
            AUDIO: pa.array([encode(wave, "flac") for wave, _ in made], pa.binary()),
            DURATION: pa.array([wave.seconds for wave, _ in made], pa.float64()),
            SOURCE: pa.array(paths, pa.string()),
            PARTS: pa.array([parts for _, parts in made], _PARTS_TYPE),
        }
        described = taken.with_columns(columns)
        obsolete = [name for name in (OFFSET, GAIN) if name in described.columns()]
        return described.with_data(described.data.drop_columns(obsolete))

    def _concatenate(
        self, batch: AudioBatch, waves: Sequence[Waveform], group: Sequence[int]
    ) -> tuple[Waveform, list[dict[str, float]]]:
        import numpy as np

        silence = np.zeros((1, round(self.gap * self.sample_rate)), np.float32)
        pieces: list[Samples] = []
        parts: list[dict[str, float]] = []
        position = 0
        for row in group:
            if pieces:
                pieces.append(silence)
                position += silence.shape[1]
            samples = waves[row].samples
            end = position + samples.shape[1]
            parts.append(
                {
                    "start": position / self.sample_rate,
                    "end": end / self.sample_rate,
                    "offset": batch.start(row),
                }
            )
            pieces.append(samples)
            position = end
        return Waveform(np.hstack(pieces), self.sample_rate), parts
