"""Conversations: windows of recordings in which several people speak, cut between turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import Dropped, ProcessingStage, Rejected

from curator_audio.audio_batch import DURATION, OFFSET, PATH, TEXT, AudioBatch
from curator_audio.row_selection import drop_rows
from curator_audio.segments import SEGMENT, SOURCE_TEXT
from curator_audio.speakers.turns import (
    OVERLAP_COLUMN,
    SPEAKERS_COLUMN,
    TURNS_COLUMN,
    SpeakerTurn,
    turn_columns,
)
from curator_audio.timed_entries import read_entries


@dataclass(frozen=True)
class WindowCriteria:
    """Criteria for a window; lengths are in seconds."""

    shortest: float
    best: float
    longest: float
    fewest_speakers: int
    most_speakers: int
    max_gap: float


@dataclass(frozen=True)
class ConversationWindow:
    start: float
    end: float
    turns: tuple[SpeakerTurn, ...]

    @property
    def seconds(self) -> float:
        return self.end - self.start


def find_windows(
    turns: Sequence[SpeakerTurn], criteria: WindowCriteria
) -> Iterator[ConversationWindow]:
    """Yield, for each turn, the window that begins with it and is closest to the best length."""
    ordered = sorted(turns)
    for first in range(len(ordered)):
        fitting = [
            window
            for window in _windows_starting_at(ordered, first, criteria)
            if _fits(window, criteria)
        ]
        if fitting:
            yield min(fitting, key=lambda window: abs(window.seconds - criteria.best))


def _windows_starting_at(
    ordered: Sequence[SpeakerTurn], first: int, criteria: WindowCriteria
) -> Iterator[ConversationWindow]:
    """Yield the windows that begin with turn `first`, one per last turn, up to the longest."""
    start, end = ordered[first].start, ordered[first].start
    for last in range(first, len(ordered)):
        turn = ordered[last]
        if turn.start - end > criteria.max_gap or turn.start - start > criteria.longest:
            return
        end = max(end, turn.end)
        if end - start > criteria.longest:
            return
        yield ConversationWindow(start, end, tuple(ordered[first : last + 1]))


def _fits(window: ConversationWindow, criteria: WindowCriteria) -> bool:
    speakers = len({turn.speaker for turn in window.turns})
    return (
        window.seconds >= criteria.shortest
        and criteria.fewest_speakers <= speakers <= criteria.most_speakers
    )


def choose_separate(
    windows: Sequence[ConversationWindow], max_overlap: float, best: float
) -> list[ConversationWindow]:
    """Choose windows that overlap little, preferring those closest to the best length.

    `max_overlap` is the largest allowed overlap, as a share of the shorter of two windows.
    """
    chosen: list[ConversationWindow] = []
    for window in sorted(windows, key=lambda one: (abs(one.seconds - best), one.start)):
        if all(_overlap(window, other) <= max_overlap for other in chosen):
            chosen.append(window)
    return sorted(chosen, key=lambda window: window.start)


def _overlap(one: ConversationWindow, other: ConversationWindow) -> float:
    common = min(one.end, other.end) - max(one.start, other.start)
    return max(0.0, common) / min(one.seconds, other.seconds)


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
                "must be 1 or more, and the first no larger than the second"
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
        read = read_entries(task, self.turns_field, ("speaker",))
        rows: list[int] = []
        windows: list[ConversationWindow] = []
        reasons: list[str | None] = []
        for row, listed in enumerate(read.values):
            turns = [
                SpeakerTurn(turn["start"], turn["end"], str(turn["speaker"])) for turn in listed
            ]
            found = choose_separate(
                list(find_windows(turns, self._criteria)), self.max_overlap, self.duration
            )
            windows += found
            rows += [row] * len(found)
            reasons.append(None if found else self._no_window_reason(turns))
        yield from drop_rows(read.batch, reasons)
        if rows:
            yield self._make_rows(read.batch, rows, windows)
        yield from read.rejected

    def _no_window_reason(self, turns: Sequence[SpeakerTurn]) -> str:
        """Return the reason why a row has no window."""
        speakers = len({turn.speaker for turn in turns})
        if speakers < self.min_speakers:
            return f"fewer than {self.min_speakers} speakers"
        return "no conversation of that length"

    @property
    def _criteria(self) -> WindowCriteria:
        low, high = 1 - self.tolerance, 1 + self.tolerance
        return WindowCriteria(
            low * self.duration,
            self.duration,
            high * self.duration,
            self.min_speakers,
            self.max_speakers,
            self.max_gap,
        )

    def _make_rows(
        self, task: AudioBatch, rows: Sequence[int], windows: Sequence[ConversationWindow]
    ) -> AudioBatch:
        bare = task.with_table(task.data.drop_columns([self.turns_field]))  # split among windows
        table = bare.repeat_rows(rows).data
        names = [SOURCE_TEXT if name == TEXT else name for name in table.column_names]
        offsets = [task.start(row) + one.start for row, one in zip(rows, windows, strict=True)]
        inside = [
            [SpeakerTurn(t.start - one.start, t.end - one.start, t.speaker) for t in one.turns]
            for one in windows
        ]
        columns: dict[str, Any] = {
            OFFSET: pa.array([round(offset, 6) for offset in offsets], pa.float64()),
            DURATION: pa.array([round(one.seconds, 6) for one in windows], pa.float64()),
            SEGMENT: pa.array(_numbers(rows), pa.int64()),
            **turn_columns(inside),
        }
        return task.with_table(table.rename_columns(names)).with_columns(columns)


def _numbers(rows: Sequence[int]) -> list[int]:
    """Number the windows of each row, starting at 0."""
    return [index - rows.index(row) for index, row in enumerate(rows)]
