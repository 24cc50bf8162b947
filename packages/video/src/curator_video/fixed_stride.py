"""Fixed-stride splitting: clips of equal length, one after another."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from curator_core import Dropped, ProcessingStage, Rejected

from curator_video.analysis.frame_stage import SharedDecode, cache_analysis
from curator_video.analysis.measurements import ClipAnalysis, FrameMeasurements, FrameNeeds
from curator_video.analysis.shared_decode import analyze_span, measure_frames
from curator_video.decoding import DamagedSpan, DamagedVideoError
from curator_video.probing import VideoFacts
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan, Video
from curator_video.timeline import find_end

_ROUNDING = 1e-6
_MAX_MISSING = 100
"""Maximum number of clips rejected if headers claim more video than there is; a damaged header may
claim millions."""

_EPSILON = 1e-4


@dataclass
class FixedStrideSplitter(SharedDecode, ProcessingStage[Video, Clip]):
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

    def process(self, task: Video) -> Iterator[Clip | Dropped | Rejected]:
        facts = task.get_facts()
        edges = self._edges(self._end(task.data, facts))
        spans = [ClipSpan(task.data, facts, *pair, number) for number, pair in enumerate(edges)]
        if not spans:
            yield Dropped(f"shorter than {self.min_length_s:g} s", records=task)
        elif self.later_needs.needs_every_frame:
            yield from split_in_one_pass(task.data, spans, self.later_needs)
        else:
            yield from map(Clip, spans)

    def _end(self, source: VideoSource, facts: VideoFacts) -> float:
        """Return the end of the video; the duration in its headers if no clip comes near it."""
        stride = self.stride_s or self.clip_length_s
        reached = math.inf if self.limit is None else (self.limit - 1) * stride + self.clip_length_s
        is_near = reached > facts.duration - self.clip_length_s
        return find_end(source, facts, _MAX_MISSING * stride) if is_near else facts.duration

    def _edges(self, duration: float) -> Iterator[tuple[float, float]]:
        stride = float(self.stride_s or self.clip_length_s)
        count = math.ceil(duration / stride)
        for number in range(count if self.limit is None else min(count, self.limit)):
            start = round(number * stride, 6)
            end = round(min(start + self.clip_length_s, duration), 6)
            if end - start >= self.min_length_s - _ROUNDING:
                yield start, end


def split_in_one_pass(
    source: VideoSource, spans: Iterable[ClipSpan], needs: FrameNeeds
) -> Iterator[Clip | Rejected]:
    """Yield the intact clips in order. Damaged parts are rejected with the clips they affect."""
    waiting = list(spans)
    collector = _SpanCollector(needs)
    for item in measure_frames(source, needs):
        if isinstance(item, DamagedSpan):
            where = f"{source.path}[{item.start:.2f}-{item.end:.2f} s]"
            yield Rejected(item.reason, where, collector.drop_damaged(waiting, item))
        else:
            yield from collector.add(waiting, item)
    yield from collector.finish(waiting)


class _SpanCollector:
    """Keep measurements until all clips that may need them are complete."""

    def __init__(self, needs: FrameNeeds) -> None:
        self._needs = needs
        self._seen: list[FrameMeasurements] = []
        self._has_ended = False

    def add(
        self, waiting: list[ClipSpan], measured: FrameMeasurements
    ) -> Iterator[Clip | Rejected]:
        while waiting and waiting[0].end <= measured.time + _EPSILON:
            yield self._make_clip(waiting.pop(0))
        self._forget(waiting)
        self._seen.append(measured)

    def drop_damaged(self, waiting: list[ClipSpan], damage: DamagedSpan) -> int:
        """Remove the clips that the damage touches; return their number, at least 1."""
        touched = [s for s in waiting if s.start < damage.end and damage.start < s.end]
        for span in touched:
            waiting.remove(span)
        return max(1, len(touched))

    def finish(self, waiting: list[ClipSpan]) -> Iterator[Clip | Rejected]:
        for span in waiting:
            yield self._make_clip(span)

    def _make_clip(self, span: ClipSpan) -> Clip | Rejected:
        clip = Clip(span)
        seen = [
            one for one in self._seen if span.start - _EPSILON <= one.time < span.end - _EPSILON
        ]
        found = ClipAnalysis(self._needs, seen) if seen else self._analyze_held_frame(span)
        if found is None:
            return Rejected("none of its frames were decoded", clip.describe())
        cache_analysis(clip, found)
        return clip

    def _analyze_held_frame(self, span: ClipSpan) -> ClipAnalysis | None:
        """Measure a clip whose only frame begins before it."""
        if self._has_ended:
            return None
        try:
            return analyze_span(span, self._needs)
        except DamagedVideoError:
            self._has_ended = True  # later clips have no frames either
            return None

    def _forget(self, waiting: list[ClipSpan]) -> None:
        """Drop measurements from before the first waiting clip."""
        since = waiting[0].start if waiting else float("inf")
        first = next((i for i, one in enumerate(self._seen) if one.time >= since - _EPSILON), None)
        del self._seen[: len(self._seen) if first is None else first]
