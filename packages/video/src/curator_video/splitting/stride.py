"""Fixed-stride splitting: clips of equal length, one after another."""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

from curator_core.model.stages import AnyStage, ProcessingStage
from curator_core.model.tasks import Dropped, Rejected

from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Span
from curator_video.facts import VideoFacts
from curator_video.sharing import wanted_by
from curator_video.sources import VideoSource
from curator_video.videos import Video

_EPSILON = 1e-6
_MISSED = 100
"""Limit on the clips that are rejected if headers claim more video than there is, because the claim
may amount to millions of clips."""


@dataclass
class FixedStrideSplitter(ProcessingStage[Video, Clip]):
    """Split videos into clips of ten seconds each.

    The last may be shorter, down to `min_length_s`.
    """

    clip_length_s: float = 10.0
    """Duration of a clip in seconds."""

    stride_s: float | None = None
    """Seconds from the beginning of one clip to the next. The clip length by default."""

    min_length_s: float = 2.0
    """Minimum duration of the last clip in seconds."""

    limit: int | None = None
    """Maximum number of clips per video."""

    _shared = Wanted()

    def check(self) -> Iterator[str]:
        for name in ("clip_length_s", "stride_s", "min_length_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                yield f"{name} is {value}, but must be more than 0"
        if self.min_length_s > self.clip_length_s:
            yield (
                f"min_length_s is {self.min_length_s}, more than clip_length_s of "
                f"{self.clip_length_s}; every clip would be too short"
            )

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        aware = copy(self)
        object.__setattr__(aware, "_shared", wanted_by(stages))
        return aware

    def process(self, task: Video) -> Iterator[Clip | Dropped | Rejected]:
        facts = task.probed()
        edges = self._edges(self._end(task.data, facts))
        spans = [Span(task.data, facts, *pair, number) for number, pair in enumerate(edges)]
        if not spans:
            yield Dropped(f"shorter than {self.min_length_s:g} s", records=task)
        elif self._shared.needs_every_picture:
            from curator_video.splitting.passing import passed

            yield from passed(task.data, spans, self._shared)
        else:
            yield from map(Clip, spans)

    def _end(self, source: VideoSource, facts: VideoFacts) -> float:
        """Return the end of the video; the duration in its headers if no clip gets near it."""
        from curator_video.ending import end_of

        stride = self.stride_s or self.clip_length_s
        reached = math.inf if self.limit is None else (self.limit - 1) * stride + self.clip_length_s
        is_near = reached > facts.duration - self.clip_length_s
        return end_of(source, facts, _MISSED * stride) if is_near else facts.duration

    def _edges(self, duration: float) -> Iterator[tuple[float, float]]:
        stride = float(self.stride_s or self.clip_length_s)
        count = math.ceil(duration / stride)
        for number in range(count if self.limit is None else min(count, self.limit)):
            start = round(number * stride, 6)
            end = round(min(start + self.clip_length_s, duration), 6)
            if end - start >= self.min_length_s - _EPSILON:
                yield start, end
