"""Measurements of frames: what stages need, how it is measured, and the results for a clip."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from curator_video.analysis.motion import ClipMotion, mean_motion, motion_grid
from curator_video.analysis.sampling import Sampling, SamplingGrid
from curator_video.decoding import TimedFrame

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.reformatter import VideoReformatter

MOTION_FPS = 2.0
"""Motion vectors and sharpness are sampled this often per second."""

Pixels: TypeAlias = NDArray[np.uint8]

_THUMB = (64, 36)

SHOT_THUMB = (48, 27)
"""Size of the thumbnails for shot detection."""

_DARK = 40

_SHARP_WIDTH = 640


@dataclass(frozen=True)
class FrameNeeds:
    """What stages need to know about the frames of a clip."""

    luma: bool = False
    motion: bool = False
    sharpness: bool = False
    thumbs: bool = False
    frames: frozenset[Sampling] = field(default_factory=frozenset)

    def __or__(self, other: "FrameNeeds") -> "FrameNeeds":
        return FrameNeeds(
            self.luma or other.luma,
            self.motion or other.motion,
            self.sharpness or other.sharpness,
            self.thumbs or other.thumbs,
            self.frames | other.frames,
        )

    def __contains__(self, other: "FrameNeeds") -> bool:
        return self | other == self

    def __bool__(self) -> bool:
        return self != FrameNeeds()

    @property
    def needs_every_frame(self) -> bool:
        """Whether all frames must be decoded. Sampling at a rate can skip some."""
        return self.luma or self.motion or self.thumbs


@dataclass(frozen=True)
class Luma:
    """Brightness from 0 to 1, share of dark pixels, and change from the previous frame."""

    mean: float
    dark: float
    change: float | None


@dataclass
class FrameMeasurements:
    """Measurements of one frame."""

    time: float
    luma: Luma | None = None
    sharpness: float | None = None
    motion: NDArray[np.float32] | None = None
    thumb: Pixels | None = None
    frames: dict[Sampling, Pixels] = field(default_factory=dict)


class FrameAnalyzer:
    """Measure frames in presentation order."""

    def __init__(self, needs: FrameNeeds, start: float = 0.0) -> None:
        from av.video.reformatter import VideoReformatter

        self._needs = needs
        self._motion = SamplingGrid(MOTION_FPS, start)
        self._grids = {
            sampling: SamplingGrid(sampling.fps, start) for sampling in sorted(needs.frames)
        }
        self._previous: NDArray[np.int16] | None = None
        self._thumbs: VideoReformatter = VideoReformatter()
        self._shots = VideoReformatter()
        self._reformatters = {sampling: VideoReformatter() for sampling in self._grids}

    def measure(self, timed: TimedFrame) -> FrameMeasurements:
        found = FrameMeasurements(timed.time)
        if self._needs.luma:
            found.luma = self._luma(timed.frame)
        if self._needs.thumbs:
            width, height = SHOT_THUMB
            small = self._shots.reformat(
                timed.frame, width, height, "rgb24", interpolation="FAST_BILINEAR"
            )
            found.thumb = np.asarray(small.to_ndarray(), np.uint8)
        if (self._needs.motion or self._needs.sharpness) and self._motion.selects(timed.time):
            self._measure_sample(timed.frame, found)
        for sampling, grid in self._grids.items():
            if grid.selects(timed.time):
                reformatter = self._reformatters[sampling]
                found.frames[sampling] = to_upright_rgb(timed.frame, sampling.height, reformatter)
        return found

    def _measure_sample(self, frame: "VideoFrame", found: FrameMeasurements) -> None:
        if self._needs.sharpness:
            found.sharpness = sharpness(frame)
        if self._needs.motion:
            found.motion = motion_grid(frame)

    def _luma(self, frame: "VideoFrame") -> Luma:
        width, height = _THUMB
        small: Any = self._thumbs.reformat(
            frame, width, height, "gray", interpolation="FAST_BILINEAR"
        )
        thumb = small.to_ndarray().astype(np.int16)
        previous, self._previous = self._previous, thumb
        change = None if previous is None else float(np.abs(thumb - previous).mean()) / 255
        return Luma(float(thumb.mean()) / 255, float((thumb < _DARK).mean()), change)


def to_upright_rgb(frame: "VideoFrame", height: int, reformatter: "VideoReformatter") -> Pixels:
    """Return the frame as RGB, rotated for display and scaled down to `height` if higher."""
    turns = int(frame.rotation) // 90 % 4
    shown_height = frame.width if turns % 2 else frame.height
    scale = min(1.0, height / shown_height) if height else 1.0
    width, height = (max(1, round(side * scale)) for side in (frame.width, frame.height))
    method = "AREA" if scale < 1 else None
    pixels = reformatter.reformat(frame, width, height, "rgb24", interpolation=method)
    return np.ascontiguousarray(np.rot90(pixels.to_ndarray(), turns))


def sharpness(frame: "VideoFrame") -> float:
    """Return the variance of the Laplacian.

    Frames wider than 640 pixels are scaled down first.
    """
    scale = min(1.0, _SHARP_WIDTH / frame.width)
    width, height = (max(3, round(side * scale)) for side in (frame.width, frame.height))
    small = frame.reformat(width, height, "gray", interpolation="AREA")
    gray = small.to_ndarray().astype(np.int16)
    middle = gray[1:-1, 1:-1]
    around = gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:]
    return float((around - 4 * middle).var())


@dataclass(frozen=True)
class ClipAnalysis:
    """The measurements of a clip, frame by frame."""

    needs: FrameNeeds
    measurements: Sequence[FrameMeasurements]

    @property
    def times(self) -> list[float]:
        return [one.time for one in self.measurements]

    @property
    def changes(self) -> NDArray[np.float64]:
        """Change of each frame from the previous one, from 0 to 1; the first frame has none."""
        lumas = [one.luma for one in self.measurements[1:]]
        return np.array([0.0 if one is None else one.change or 0.0 for one in lumas])

    @property
    def brightness(self) -> NDArray[np.float64]:
        return np.array([one.luma.mean for one in self.measurements if one.luma])

    @property
    def darkness(self) -> NDArray[np.float64]:
        """The share of dark pixels of each frame."""
        return np.array([one.luma.dark for one in self.measurements if one.luma])

    @property
    def sharpness(self) -> NDArray[np.float64]:
        found = (one.sharpness for one in self.measurements)
        return np.array([one for one in found if one is not None])

    def sampled_frames(self, sampling: Sampling) -> list[tuple[float, Pixels]]:
        """Return the frames sampled at a rate, each with its time."""
        seen = ((one.time, one.frames.get(sampling)) for one in self.measurements)
        return [(time, frame) for time, frame in seen if frame is not None]

    def motion(self, width: int, height: int, patch: int = 256) -> ClipMotion | None:
        """Return the motion of the clip, or None where the codec provides no motion vectors."""
        grids = [one.motion for one in self.measurements if one.motion is not None]
        return mean_motion(grids, width, height, patch)
