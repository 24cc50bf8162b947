"""Builder of conversations: turn rows with speaker turns into rows of conversation windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected

from curator_audio.batches import DURATION, OFFSET, PATH, TEXT, AudioBatch
from curator_audio.conversations.windows import Wanted, Window, apart, windows_in
from curator_audio.entries import entries_in
from curator_audio.settling import dropped
from curator_audio.speakers.turns import OVERLAP_COLUMN, SPEAKERS_COLUMN, TURNS_COLUMN, Turn, told
from curator_audio.speech.extracting import SEGMENT, SOURCE_TEXT


@dataclass
class ConversationBuilder(ProcessingStage[AudioBatch, AudioBatch]):
    """Make a row of each window with several speakers, to train conversation models.

    Windows begin and end with a turn and last about `duration` seconds. Nothing is decoded. The
    times in `turns` are relative to the start of the window.
    """

    duration: float = 120.0
    """Length of a window, in seconds."""

    tolerance: float = 0.1
    """Share of `duration` by which a window may be shorter or longer."""

    min_speakers: int = 2
    """Minimum number of speakers in a window."""

    max_speakers: int = 5
    """Maximum number of speakers in a window."""

    max_gap: float = 10.0
    """Longest pause allowed inside a window, in seconds."""

    max_overlap: float = 0.5
    """Largest share of a window that may overlap another window."""

    turns_field: str = TURNS_COLUMN
    """Column of turns, each with start, end and speaker: `segments` in NeMo manifests."""

    def check(self) -> Iterator[str]:
        if self.duration <= 0:
            yield f"duration is {self.duration:g}, but must be more than 0"
        for name in ("tolerance", "max_overlap"):
            if not 0 <= getattr(self, name) <= 1:
                yield f"{name} is {getattr(self, name):g}, but must be from 0 to 1"
        if not 1 <= self.min_speakers <= self.max_speakers:
            yield (
                f"min_speakers is {self.min_speakers} and max_speakers {self.max_speakers}; they "
                "must be 1 or more, and the first no larger"
            )
        if self.max_gap < 0:
            yield f"max_gap is {self.max_gap:g}, but must be 0 or more"

    def inputs(self) -> Sequence[str]:
        return (PATH, self.turns_field)

    def outputs(self) -> Sequence[str]:
        return (OFFSET, DURATION, SEGMENT, TURNS_COLUMN, SPEAKERS_COLUMN, OVERLAP_COLUMN)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        if before is None:
            return None
        renamed = {SOURCE_TEXT if name == TEXT else name for name in before}
        return frozenset((renamed - {self.turns_field}) | set(self.outputs()))

    def process(self, task: AudioBatch) -> Iterator[AudioBatch | Dropped | Rejected]:
        read = entries_in(task, self.turns_field, ("speaker",))
        rows: list[int] = []
        windows: list[Window] = []
        faults: list[str | None] = []
        for row, listed in enumerate(read.values):
            turns = [Turn(turn["start"], turn["end"], str(turn["speaker"])) for turn in listed]
            found = apart(list(windows_in(turns, self._wanted)), self.max_overlap, self.duration)
            windows += found
            rows += [row] * len(found)
            faults.append(None if found else self._fault(turns))
        yield from dropped(read.batch, faults)
        if rows:
            yield self._made(read.batch, rows, windows)
        yield from read.rejected

    def _fault(self, turns: Sequence[Turn]) -> str:
        """Return the reason why a row has no window."""
        speakers = len({turn.speaker for turn in turns})
        if speakers < self.min_speakers:
            return f"fewer than {self.min_speakers} speakers"
        return "no conversation of that length"

    @property
    def _wanted(self) -> Wanted:
        low, high = 1 - self.tolerance, 1 + self.tolerance
        return Wanted(
            low * self.duration,
            self.duration,
            high * self.duration,
            self.min_speakers,
            self.max_speakers,
            self.max_gap,
        )

    def _made(self, task: AudioBatch, rows: Sequence[int], windows: Sequence[Window]) -> AudioBatch:
        bare = task.with_table(task.data.drop_columns([self.turns_field]))  # split among windows
        table = bare.repeated(rows).data
        names = [SOURCE_TEXT if name == TEXT else name for name in table.column_names]
        offsets = [task.start(row) + one.start for row, one in zip(rows, windows, strict=True)]
        inside = [
            [Turn(t.start - one.start, t.end - one.start, t.speaker) for t in one.turns]
            for one in windows
        ]
        columns: dict[str, Any] = {
            OFFSET: pa.array([round(offset, 6) for offset in offsets], pa.float64()),
            DURATION: pa.array([round(one.seconds, 6) for one in windows], pa.float64()),
            SEGMENT: pa.array(_numbers(rows), pa.int64()),
            **told(inside),
        }
        return task.with_table(table.rename_columns(names)).with_columns(columns)


def _numbers(rows: Sequence[int]) -> list[int]:
    """Number the windows of each row, starting at 0."""
    return [place - rows.index(row) for place, row in enumerate(rows)]
