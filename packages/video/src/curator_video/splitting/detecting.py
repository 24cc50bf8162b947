"""Shot detection: find the last picture of each shot from a stream of thumbnails."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.observing import Pixels

_BINS = 16
_AROUND = 12


class ShotDetector(ABC):
    """Take pictures one by one; decide for each, some pictures later, whether a shot ends there.

    All pictures of a dissolve or fade count as ends: a shot ends with the first of them, and the
    next one begins after the last.
    """

    @abstractmethod
    def push(self, thumb: Pixels) -> list[bool]:
        """Add a picture; return the decisions that are now known, in order and each only once."""

    @abstractmethod
    def finish(self) -> list[bool]:
        """Return the remaining decisions and reset the detector."""


class HistogramDetector(ShotDetector):
    """Find hard cuts: colours change far more than at nearby pictures."""

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
            told.append(False)  # the last picture has no shot after it
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
        """Return whether colours change twice in a row, as in a flash."""
        nearby = [*self._changes[max(0, place - 1) : place], *self._changes[place + 1 : place + 2]]
        return any(change > self._threshold for change in nearby)


def _histogram(thumb: Pixels) -> NDArray[np.float64]:
    counts: Iterable[NDArray[np.int64]] = (
        np.bincount(thumb[..., channel].ravel() >> 4, minlength=_BINS) for channel in range(3)
    )
    shares: NDArray[np.float64] = np.concatenate(list(counts)) / float(thumb[..., 0].size)
    return shares
