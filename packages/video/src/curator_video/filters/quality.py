"""Quality filters: frozen, black, or blurred clips."""

from dataclasses import dataclass

import numpy as np

from curator_video.analysis.measurements import FrameNeeds
from curator_video.filters.base import ClipFilter, as_number
from curator_video.tasks import Clip, Score


@dataclass
class FreezeFilter(ClipFilter):
    """Drop clips that are frozen for much of their time."""

    max_frozen_share: float = 0.5
    """Maximum share of frames that may equal the previous one."""

    max_change: float = 0.0005
    """Maximum change, from 0 to 1, for two frames to count as equal."""

    fractions = ("max_frozen_share", "max_change")

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        changes = self.analyze(clip).changes
        share = float((changes <= self.max_change).mean()) if changes.size else 1.0
        return {"frozen_share": share}

    def reason(self, scores: dict[str, Score]) -> str | None:
        return "frozen" if as_number(scores["frozen_share"]) > self.max_frozen_share else None


@dataclass
class BlackFilter(ClipFilter):
    """Drop clips that are black for much of their time."""

    max_black_share: float = 0.5
    """Maximum share of black frames."""

    min_dark_pixels: float = 0.98
    """Minimum share of dark pixels for a frame to count as black."""

    fractions = ("max_black_share", "min_dark_pixels")

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(luma=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        return {"black_share": float((self.analyze(clip).darkness >= self.min_dark_pixels).mean())}

    def reason(self, scores: dict[str, Score]) -> str | None:
        return "black" if as_number(scores["black_share"]) > self.max_black_share else None


@dataclass
class BlurFilter(ClipFilter):
    """Drop clips with blurred frames. Two frames per second are examined."""

    min_sharpness: float = 20.0
    """Minimum variance of the Laplacian of the median frame, at a width of up to 640."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(sharpness=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        found = self.analyze(clip).sharpness
        return {"sharpness": float(np.median(found)) if found.size else None}

    def reason(self, scores: dict[str, Score]) -> str | None:
        sharpness = scores["sharpness"]
        return (
            "blurred"
            if sharpness is not None and as_number(sharpness) < self.min_sharpness
            else None
        )
