"""Passes: one pass over a video yields clips of known spans with their findings."""

from collections.abc import Iterable, Iterator

from curator_core.model.tasks import Rejected

from curator_video.analysis.examining import examined, watched
from curator_video.analysis.findings import Findings
from curator_video.analysis.observing import Observation
from curator_video.analysis.wants import Wanted
from curator_video.clips import Clip, Span
from curator_video.decoding import Damage, DamagedVideoError
from curator_video.sharing import keep_findings
from curator_video.sources import VideoSource

_EPSILON = 1e-4


def passed(source: VideoSource, spans: Iterable[Span], wanted: Wanted) -> Iterator[Clip | Rejected]:
    """Yield the intact clips in order. Damaged parts are rejected with the clips they affect."""
    waiting = list(spans)
    passage = _Passage(wanted)
    for item in watched(source, wanted):
        if isinstance(item, Damage):
            place = f"{source.path}[{item.start:.2f}-{item.end:.2f} s]"
            yield Rejected(item.reason, place, passage.damage(waiting, item))
        else:
            yield from passage.see(waiting, item)
    yield from passage.rest(waiting)


class _Passage:
    """Keep observations until all clips that may need them are complete."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._seen: list[Observation] = []
        self._is_over = False

    def see(self, waiting: list[Span], observation: Observation) -> Iterator[Clip | Rejected]:
        while waiting and waiting[0].end <= observation.time + _EPSILON:
            yield self._clip(waiting.pop(0))
        self._forget(waiting)
        self._seen.append(observation)

    def damage(self, waiting: list[Span], damage: Damage) -> int:
        """Remove the clips that the damage touches; return their number, at least 1."""
        touched = [s for s in waiting if s.start < damage.end and damage.start < s.end]
        for span in touched:
            waiting.remove(span)
        return max(1, len(touched))

    def rest(self, waiting: list[Span]) -> Iterator[Clip | Rejected]:
        for span in waiting:
            yield self._clip(span)

    def _clip(self, span: Span) -> Clip | Rejected:
        clip = Clip(span)
        seen = [
            one for one in self._seen if span.start - _EPSILON <= one.time < span.end - _EPSILON
        ]
        found = Findings(self._wanted, seen) if seen else self._held(span)
        if found is None:
            return Rejected("no pictures were decoded of it", clip.place)
        keep_findings(clip, found)
        return clip

    def _held(self, span: Span) -> Findings | None:
        """Return the findings of a clip whose only picture begins before it."""
        if self._is_over:
            return None
        try:
            return examined(span, self._wanted)
        except DamagedVideoError:
            self._is_over = True  # later clips have no pictures either
            return None

    def _forget(self, waiting: list[Span]) -> None:
        """Drop observations from before the first waiting clip."""
        since = waiting[0].start if waiting else float("inf")
        first = next((i for i, one in enumerate(self._seen) if one.time >= since - _EPSILON), None)
        del self._seen[: len(self._seen) if first is None else first]
