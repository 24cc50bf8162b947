"""Observation of single pictures: the measurements kept after decoding. Pictures are not kept."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.vectors import motion_grid
from curator_video.analysis.wants import MOTION_FPS, Sampling, Wanted
from curator_video.decoding import Shown

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.reformatter import VideoReformatter

Pixels: TypeAlias = NDArray[np.uint8]

_THUMB = (64, 36)
SHOT_THUMB = (48, 27)
"""Size of the thumbnails for shot detection."""

_DARK = 40
_SHARP_WIDTH = 640
_EPSILON = 1e-3


@dataclass(frozen=True)
class Luma:
    """Brightness from 0 to 1, share of dark pixels, and change from the previous picture."""

    mean: float
    dark: float
    change: float | None


@dataclass
class Observation:
    """Measurements of one picture."""

    time: float
    luma: Luma | None = None
    sharpness: float | None = None
    motion: NDArray[np.float32] | None = None
    thumb: Pixels | None = None
    frames: dict[Sampling, Pixels] = field(default_factory=dict)


class Grid:
    """Select the first picture at or after each sampling time of a rate."""

    def __init__(self, fps: float, start: float) -> None:
        self._fps = fps
        self._last = math.ceil(start * fps - _EPSILON) - 1

    @property
    def first(self) -> float:
        """The next sampling time."""
        return (self._last + 1) / self._fps

    def hits(self, time: float) -> bool:
        point = math.floor(time * self._fps + _EPSILON)
        is_new = point > self._last
        self._last = max(point, self._last)
        return is_new


class Observer:
    """Measure pictures in presentation order."""

    def __init__(self, wanted: Wanted, start: float = 0.0) -> None:
        from av.video.reformatter import VideoReformatter

        self._wanted = wanted
        self._motion = Grid(MOTION_FPS, start)
        self._grids = {sampling: Grid(sampling.fps, start) for sampling in sorted(wanted.frames)}
        self._before: NDArray[np.int16] | None = None
        self._thumbs: VideoReformatter = VideoReformatter()
        self._shots = VideoReformatter()
        self._pictures = {sampling: VideoReformatter() for sampling in self._grids}

    def observe(self, shown: Shown) -> Observation:
        found = Observation(shown.time)
        if self._wanted.luma:
            found.luma = self._luma(shown.frame)
        if self._wanted.thumbs:
            width, height = SHOT_THUMB
            small = self._shots.reformat(
                shown.frame, width, height, "rgb24", interpolation="FAST_BILINEAR"
            )
            found.thumb = np.asarray(small.to_ndarray(), np.uint8)
        if (self._wanted.motion or self._wanted.sharpness) and self._motion.hits(shown.time):
            self._look_closely(shown.frame, found)
        for sampling, grid in self._grids.items():
            if grid.hits(shown.time):
                maker = self._pictures[sampling]
                found.frames[sampling] = upright(shown.frame, sampling.height, maker)
        return found

    def _look_closely(self, frame: "VideoFrame", found: Observation) -> None:
        if self._wanted.sharpness:
            found.sharpness = sharpness(frame)
        if self._wanted.motion:
            found.motion = motion_grid(frame)

    def _luma(self, frame: "VideoFrame") -> Luma:
        width, height = _THUMB
        small: Any = self._thumbs.reformat(
            frame, width, height, "gray", interpolation="FAST_BILINEAR"
        )
        thumb = small.to_ndarray().astype(np.int16)
        before, self._before = self._before, thumb
        change = None if before is None else float(np.abs(thumb - before).mean()) / 255
        return Luma(float(thumb.mean()) / 255, float((thumb < _DARK).mean()), change)


def upright(frame: "VideoFrame", height: int, maker: "VideoReformatter") -> Pixels:
    """Return the picture as RGB, rotated for display and scaled down to `height` if higher."""
    turns = int(frame.rotation) // 90 % 4
    shown_height = frame.width if turns % 2 else frame.height
    scale = min(1.0, height / shown_height) if height else 1.0
    width, height = (max(1, round(side * scale)) for side in (frame.width, frame.height))
    way = "AREA" if scale < 1 else None
    made = maker.reformat(frame, width, height, "rgb24", interpolation=way)
    return np.ascontiguousarray(np.rot90(made.to_ndarray(), turns))


def sharpness(frame: "VideoFrame") -> float:
    """Return the variance of the Laplacian.

    Pictures wider than 640 pixels are scaled down first.
    """
    scale = min(1.0, _SHARP_WIDTH / frame.width)
    width, height = (max(3, round(side * scale)) for side in (frame.width, frame.height))
    small = frame.reformat(width, height, "gray", interpolation="AREA")
    gray = small.to_ndarray().astype(np.int16)
    middle = gray[1:-1, 1:-1]
    around = gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:]
    return float((around - 4 * middle).var())
