"""Findings: the result of decoding a clip once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.observing import Observation, Pixels
from curator_video.analysis.vectors import CELL
from curator_video.analysis.wants import Sampling, Wanted


@dataclass(frozen=True)
class MotionField:
    """Motion over a clip: the mean, and the minimum over patches."""

    mean: float
    patch_minimum: float
    pictures: int


@dataclass(frozen=True)
class Findings:
    """What was measured, and the observations picture by picture."""

    wanted: Wanted
    observations: Sequence[Observation]

    @property
    def times(self) -> list[float]:
        return [one.time for one in self.observations]

    @property
    def changes(self) -> NDArray[np.float64]:
        """Change of each picture from the previous one, from 0 to 1; the first picture has none."""
        lumas = [one.luma for one in self.observations[1:]]
        return np.array([0.0 if one is None else one.change or 0.0 for one in lumas])

    @property
    def brightness(self) -> NDArray[np.float64]:
        return np.array([one.luma.mean for one in self.observations if one.luma])

    @property
    def darkness(self) -> NDArray[np.float64]:
        """The share of dark pixels of each picture."""
        return np.array([one.luma.dark for one in self.observations if one.luma])

    @property
    def sharpness(self) -> NDArray[np.float64]:
        found = (one.sharpness for one in self.observations)
        return np.array([one for one in found if one is not None])

    def pictures(self, sampling: Sampling) -> list[tuple[float, Pixels]]:
        """Return the pictures sampled at a rate, each with its time."""
        seen = ((one.time, one.frames.get(sampling)) for one in self.observations)
        return [(time, frame) for time, frame in seen if frame is not None]

    def motion(self, width: int, height: int, patch: int = 256) -> MotionField | None:
        """Return the motion of the clip, or None where the codec provides no motion vectors."""
        grids = [one.motion for one in self.observations if one.motion is not None]
        grids = [grid for grid in grids if grid.size]
        if not grids:
            return None
        mean = np.mean(grids, axis=0)
        weights = np.outer(_sizes(height, mean.shape[0]), _sizes(width, mean.shape[1]))
        return MotionField(
            float((mean * weights).sum() / (width * height)),
            _least(mean, max(1, patch // CELL)),
            len(grids),
        )


def _sizes(side: int, cells: int) -> NDArray[np.float64]:
    """Return the pixels of each cell; the last cell may extend beyond the picture."""
    sizes = np.full(cells, float(CELL))
    sizes[-1] = side - CELL * (cells - 1)
    return sizes


def _least(mean: NDArray[np.float32], patch: int) -> float:
    """Return the mean of the patch with the least motion; smaller pictures count as one patch."""
    rows, columns = max(1, mean.shape[0] // patch), max(1, mean.shape[1] // patch)
    patches = [
        part.mean()
        for band in np.array_split(mean, rows, axis=0)
        for part in np.array_split(band, columns, axis=1)
    ]
    return float(min(patches))
