"""Scene detection by colour histograms: finds hard cuts, needs no model."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.measurements import Pixels
from curator_video.scenes.base import ShotDetector, ShotSplitter

_BINS = 16
_NEIGHBOURS = 12


class HistogramDetector(ShotDetector):
    """Find hard cuts: colours change far more than at nearby frames."""

    def __init__(self, threshold: float = 0.9, times_usual: float = 3.0) -> None:
        self._threshold = threshold
        self._times_usual = times_usual
        self._previous: NDArray[np.float64] | None = None
        self._changes: list[float] = []
        self._decided = 0

    def push(self, thumb: Pixels) -> list[bool]:
        histogram = _histogram(thumb)
        if self._previous is not None:
            self._changes.append(float(np.abs(histogram - self._previous).sum()))
        self._previous = histogram
        ready = len(self._changes) - _NEIGHBOURS
        return self._decide(range(self._decided, ready)) if ready > self._decided else []

    def finish(self) -> list[bool]:
        decisions = self._decide(range(self._decided, len(self._changes)))
        if self._previous is not None:
            decisions.append(False)  # the last frame has no shot after it
        self._previous, self._changes, self._decided = None, [], 0
        return decisions

    def _decide(self, indices: range) -> list[bool]:
        decisions = [self._is_cut(index) for index in indices]
        self._decided = indices.stop
        expired = max(0, self._decided - _NEIGHBOURS)
        self._changes, self._decided = self._changes[expired:], self._decided - expired
        return decisions

    def _is_cut(self, index: int) -> bool:
        change = self._changes[index]
        if change <= self._threshold:
            return False
        around = self._changes[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1]
        usual = float(np.median(around))
        return not self._is_flash(index) and change > self._times_usual * usual + 0.05

    def _is_flash(self, index: int) -> bool:
        """Return whether colours change twice in a row, as in a flash."""
        nearby = [*self._changes[max(0, index - 1) : index], *self._changes[index + 1 : index + 2]]
        return any(change > self._threshold for change in nearby)


def _histogram(thumb: Pixels) -> NDArray[np.float64]:
    counts: Iterable[NDArray[np.int64]] = (
        np.bincount(thumb[..., channel].ravel() >> 4, minlength=_BINS) for channel in range(3)
    )
    shares: NDArray[np.float64] = np.concatenate(list(counts)) / float(thumb[..., 0].size)
    return shares


@dataclass
class HistogramShotSplitter(ShotSplitter):
    """Split videos into shots where colours change abruptly: fast, without a model."""

    threshold: float = 0.9
    """Minimum colour change for a cut, from 0 to 6."""

    def detector(self) -> ShotDetector:
        return HistogramDetector(self.threshold)
