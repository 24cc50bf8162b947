"""Size filters, which need no decoding: duration and resolution."""

from collections.abc import Iterator
from dataclasses import dataclass

from curator_video.analysis.measurements import FrameNeeds
from curator_video.filters.base import ClipFilter, as_number
from curator_video.tasks import Clip, Score


@dataclass
class DurationFilter(ClipFilter):
    """Drop clips that are too short or too long."""

    min_s: float = 2.0
    """Minimum duration in seconds."""

    max_s: float | None = None
    """Maximum duration in seconds. No maximum by default."""

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds()

    def check(self) -> Iterator[str]:
        if self.max_s is not None and self.max_s < self.min_s:
            yield f"max_s is {self.max_s}, less than min_s of {self.min_s}; no clip would be kept"

    def scores(self, clip: Clip) -> dict[str, Score]:
        return {"duration": round(clip.duration, 6)}

    def reason(self, scores: dict[str, Score]) -> str | None:
        seconds = as_number(scores["duration"])
        if seconds < self.min_s:
            return "too short"
        return "too long" if self.max_s is not None and seconds > self.max_s else None


@dataclass
class ResolutionFilter(ClipFilter):
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

    def scores(self, clip: Clip) -> dict[str, Score]:
        return {"width": clip.data.facts.width, "height": clip.data.facts.height}

    def reason(self, scores: dict[str, Score]) -> str | None:
        width, height = as_number(scores["width"]), as_number(scores["height"])
        short, long = sorted((width, height))
        if width < self.min_width or height < self.min_height or short < self.min_short_side:
            return "too small"
        return "too long a side" if long > self.max_aspect * short else None
