"""Windows of a conversation: spans of a given length and number of speakers, cut between turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from curator_audio.speakers.turns import Turn


@dataclass(frozen=True)
class Wanted:
    """Criteria for a window; lengths are in seconds."""

    shortest: float
    best: float
    longest: float
    fewest: int
    most: int
    max_gap: float


@dataclass(frozen=True)
class Window:
    start: float
    end: float
    turns: tuple[Turn, ...]

    @property
    def seconds(self) -> float:
        return self.end - self.start


def windows_in(turns: Sequence[Turn], wanted: Wanted) -> Iterator[Window]:
    """Yield, for each turn, the window that begins with it and is closest to the best length."""
    ordered = sorted(turns)
    for first in range(len(ordered)):
        fitting = [window for window in _from(ordered, first, wanted) if _fits(window, wanted)]
        if fitting:
            yield min(fitting, key=lambda window: abs(window.seconds - wanted.best))


def _from(ordered: Sequence[Turn], first: int, wanted: Wanted) -> Iterator[Window]:
    """Yield the windows that begin with turn `first`, one per last turn, up to the longest."""
    start, end = ordered[first].start, ordered[first].start
    for last in range(first, len(ordered)):
        turn = ordered[last]
        if turn.start - end > wanted.max_gap or turn.start - start > wanted.longest:
            return
        end = max(end, turn.end)
        if end - start > wanted.longest:
            return
        yield Window(start, end, tuple(ordered[first : last + 1]))


def _fits(window: Window, wanted: Wanted) -> bool:
    speakers = len({turn.speaker for turn in window.turns})
    return window.seconds >= wanted.shortest and wanted.fewest <= speakers <= wanted.most


def apart(windows: Sequence[Window], most: float, best: float) -> list[Window]:
    """Choose windows that overlap little, preferring those closest to the best length.

    `most` is the largest allowed overlap, as a share of the shorter of two windows.
    """
    chosen: list[Window] = []
    for window in sorted(windows, key=lambda one: (abs(one.seconds - best), one.start)):
        if all(_shared(window, other) <= most for other in chosen):
            chosen.append(window)
    return sorted(chosen, key=lambda window: window.start)


def _shared(one: Window, other: Window) -> float:
    common = min(one.end, other.end) - max(one.start, other.start)
    return max(0.0, common) / min(one.seconds, other.seconds)
