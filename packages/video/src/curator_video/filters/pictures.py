"""Filters for bad pictures: frozen, black, or blurred."""

from dataclasses import dataclass

import numpy as np

from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Score
from curator_video.filters.deciding import ClipFilter, number


@dataclass
class FreezeFilter(ClipFilter):
    """Drop clips that are frozen for much of their time."""

    max_frozen_share: float = 0.5
    """Maximum share of pictures that may equal the previous one."""

    max_change: float = 0.0005
    """Maximum change, from 0 to 1, for two pictures to count as equal."""

    fractions = ("max_frozen_share", "max_change")

    def wanted(self) -> Wanted:
        return Wanted(luma=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        changes = self.findings(clip).changes
        share = float((changes <= self.max_change).mean()) if changes.size else 1.0
        return {"frozen_share": share}

    def reason(self, scores: dict[str, Score]) -> str | None:
        return "frozen" if number(scores["frozen_share"]) > self.max_frozen_share else None


@dataclass
class BlackFilter(ClipFilter):
    """Drop clips that are black for much of their time."""

    max_black_share: float = 0.5
    """Maximum share of black pictures."""

    min_dark_pixels: float = 0.98
    """Minimum share of dark pixels for a picture to count as black."""

    fractions = ("max_black_share", "min_dark_pixels")

    def wanted(self) -> Wanted:
        return Wanted(luma=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        return {"black_share": float((self.findings(clip).darkness >= self.min_dark_pixels).mean())}

    def reason(self, scores: dict[str, Score]) -> str | None:
        return "black" if number(scores["black_share"]) > self.max_black_share else None


@dataclass
class BlurFilter(ClipFilter):
    """Drop clips with blurred pictures. Two pictures per second are examined."""

    min_sharpness: float = 20.0
    """Minimum variance of the Laplacian of the median picture, at a width of up to 640."""

    def wanted(self) -> Wanted:
        return Wanted(sharpness=True)

    def scores(self, clip: Clip) -> dict[str, Score]:
        found = self.findings(clip).sharpness
        return {"sharpness": float(np.median(found)) if found.size else None}

    def reason(self, scores: dict[str, Score]) -> str | None:
        sharpness = scores["sharpness"]
        return (
            "blurred" if sharpness is not None and number(sharpness) < self.min_sharpness else None
        )
