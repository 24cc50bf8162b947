"""Size filters, which need no decoding: duration and resolution."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from curator_video.analysis.measurements import FrameNeeds
from curator_video.filters.base import ClipFilter, ClipRuleSet
from curator_video.tasks import Clip, ScoreValue


@dataclass
class DurationFilter(ClipFilter):
    """Drop clips that are too short or too long."""

    score_field = "duration"
    reason = "too short or too long"

    min_s: float = 2.0
    """Minimum duration in seconds."""

    max_s: float | None = None
    """Maximum duration in seconds. No maximum by default."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds()

    def check(self) -> Iterator[str]:
        if self.max_s is not None and self.max_s < self.min_s:
            yield f"max_s is {self.max_s}, less than min_s of {self.min_s}; no clip would be kept"

    def score(self, clip: Clip) -> float:
        return round(clip.duration, 6)

    def keeps(self, score: float) -> bool:
        return score >= self.min_s and (self.max_s is None or score <= self.max_s)

    def reason_for(self, score: float) -> str:
        return "too short" if score < self.min_s else "too long"


@dataclass
class ResolutionFilter(ClipRuleSet):
    """Drop clips with small frames, or with an extreme aspect ratio."""

    min_width: int = 0
    """Minimum width, as displayed."""

    min_height: int = 0
    """Minimum height, as displayed."""

    min_short_side: int = 256
    """Minimum length of the shorter side."""

    max_aspect: float = 4.0
    """Maximum ratio of the longer side to the shorter one."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds()

    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        return {"width": clip.data.facts.width, "height": clip.data.facts.height}

    def broken_rule(self, scores: dict[str, Any]) -> str | None:
        width, height = scores["width"], scores["height"]
        short, long = sorted((width, height))
        if width < self.min_width or height < self.min_height or short < self.min_short_side:
            return "too small"
        return "too long a side" if long > self.max_aspect * short else None
