"""Detecting: which pictures are the last of a shot, told from small pictures as they come."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.observing import Pixels

_BINS = 16
_AROUND = 12


class ShotDetector(ABC):
    """Takes pictures one by one; says of each, some pictures later, whether a shot ends there.

    What belongs to a dissolve or a fade is said to be an end as well: a shot ends with the first
    of such pictures, and the next begins behind the last.
    """

    @abstractmethod
    def push(self, thumb: Pixels) -> list[bool]:
        """What is known now of pictures before it, each told once, in order."""

    @abstractmethod
    def finish(self) -> list[bool]:
        """The rest. The detector is then as it was in the beginning."""


class HistogramDetector(ShotDetector):
    """Finds hard cuts: the colours change far more than they do around that place."""

    def __init__(self, threshold: float = 0.9, times_usual: float = 3.0) -> None:
        self._threshold = threshold
        self._times_usual = times_usual
        self._before: NDArray[np.float64] | None = None
        self._changes: list[float] = []
        self._told = 0

    def push(self, thumb: Pixels) -> list[bool]:
        now = _histogram(thumb)
        if self._before is not None:
            self._changes.append(float(np.abs(now - self._before).sum()))
        self._before = now
        ready = len(self._changes) - _AROUND
        return self._tell(range(self._told, ready)) if ready > self._told else []

    def finish(self) -> list[bool]:
        told = self._tell(range(self._told, len(self._changes)))
        if self._before is not None:
            told.append(False)  # the last picture of all ends no shot before another
        self._before, self._changes, self._told = None, [], 0
        return told

    def _tell(self, places: range) -> list[bool]:
        told = [self._is_cut(place) for place in places]
        self._told = places.stop
        gone = max(0, self._told - _AROUND)
        self._changes, self._told = self._changes[gone:], self._told - gone
        return told

    def _is_cut(self, place: int) -> bool:
        change = self._changes[place]
        if change <= self._threshold:
            return False
        around = self._changes[max(0, place - _AROUND) : place + _AROUND + 1]
        is_flash = self._comes_back(place)
        return not is_flash and change > self._times_usual * float(np.median(around)) + 0.05

    def _comes_back(self, place: int) -> bool:
        """A flash changes all colours twice in a row."""
        nearby = [*self._changes[max(0, place - 1) : place], *self._changes[place + 1 : place + 2]]
        return any(change > self._threshold for change in nearby)


def _histogram(thumb: Pixels) -> NDArray[np.float64]:
    counts: Iterable[NDArray[np.int64]] = (
        np.bincount(thumb[..., channel].ravel() >> 4, minlength=_BINS) for channel in range(3)
    )
    shares: NDArray[np.float64] = np.concatenate(list(counts)) / float(thumb[..., 0].size)
    return shares
