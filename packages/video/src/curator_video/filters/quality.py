"""Quality filters: frozen, black, or blurred clips."""

from dataclasses import dataclass

import numpy as np

from curator_video.analysis.measurements import FrameNeeds
from curator_video.filters.base import ClipFilter
from curator_video.tasks import Clip


@dataclass
class FreezeFilter(ClipFilter):
    """Drop clips that are frozen for much of their time."""

    score_field = "frozen_share"
    reason = "frozen"
    fractions = ("max_frozen_share", "max_change")

    max_frozen_share: float = 0.5
    """Maximum share of frames that may equal the previous one."""

    max_change: float = 0.0005
    """Maximum change, from 0 to 1, for two frames to count as equal."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True)

    def score(self, clip: Clip) -> float:
        changes = self.analyze(clip).changes
        return float((changes <= self.max_change).mean()) if changes.size else 1.0

    def keeps(self, score: float) -> bool:
        return score <= self.max_frozen_share


@dataclass
class BlackFilter(ClipFilter):
    """Drop clips that are black for much of their time."""

    score_field = "black_share"
    reason = "black"
    fractions = ("max_black_share", "min_dark_pixels")

    max_black_share: float = 0.5
    """Maximum share of black frames."""

    min_dark_pixels: float = 0.98
    """Minimum share of dark pixels for a frame to count as black."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True)

    def score(self, clip: Clip) -> float:
        return float((self.analyze(clip).darkness >= self.min_dark_pixels).mean())

    def keeps(self, score: float) -> bool:
        return score <= self.max_black_share


@dataclass
class BlurFilter(ClipFilter):
    """Drop clips with blurred frames. Two frames per second are examined."""

    score_field = "sharpness"
    reason = "blurred"

    min_sharpness: float = 20.0
    """Minimum variance of the Laplacian of the median frame, at a width of up to 640."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(sharpness=True)

    def score(self, clip: Clip) -> float | None:
        found = self.analyze(clip).sharpness
        return float(np.median(found)) if found.size else None

    def keeps(self, score: float | None) -> bool:
        return score is None or score >= self.min_sharpness
