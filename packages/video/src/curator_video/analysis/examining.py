"""Examination of a span: decode it once and keep everything that stages want."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from curator_video.analysis.findings import Findings
from curator_video.analysis.observing import Observation, Observer
from curator_video.analysis.selecting import Unseen, selected
from curator_video.analysis.vectors import export_vectors
from curator_video.analysis.wants import MOTION_FPS, Sampling, Wanted
from curator_video.clips import Span
from curator_video.decoding import Damage, DamagedVideoError, Reel, Shown, pictures
from curator_video.opening import opened
from curator_video.sources import VideoSource


def examined(span: Span, wanted: Wanted) -> Findings:
    """Return the findings of a span; raise DamagedVideoError where a part cannot be decoded."""
    found: list[Observation] = []
    for item in _looked_at(span, wanted):
        if isinstance(item, Damage):
            raise DamagedVideoError(
                f"{span.source.path} is damaged from {item.start:.2f} to {item.end:.2f} s: "
                f"{item.reason}"
            )
        found.append(item)
    if not found and (held := _held(span, wanted)) is not None:
        found.append(held)
    if not found:
        raise DamagedVideoError(
            f"{span.source.path} has no pictures between {span.start:.2f} and {span.end:.2f} s"
        )
    return Findings(wanted, found)


def _held(span: Span, wanted: Wanted) -> Observation | None:
    """Return the still picture shown throughout a span in which no picture begins."""
    with opened(span.source) as video:
        reel = Reel(video)
        deque(reel.pictures(span.start, span.end), maxlen=0)
        shown = reel.held(span.start, is_variable=span.facts.may_hold_pictures)
        still = replace(wanted, motion=False)
        return None if shown is None else Observer(still).observe(shown)


def _looked_at(span: Span, wanted: Wanted) -> Iterator[Observation | Damage]:
    # AVI has no presentation timestamps: pictures cannot be selected before they are decoded.
    if wanted.needs_every_picture or span.facts.container == "avi":
        yield from watched(span.source, wanted, span.start, span.end)
        return
    sharp = {Sampling(MOTION_FPS)} if wanted.sharpness else set()
    with opened(span.source) as video:
        observer = Observer(wanted, span.start)
        for item in selected(video, wanted.frames | sharp, span.start, span.end):
            if isinstance(item, Unseen):
                yield from _observed(observer, pictures(video, item.time, span.end))
                return
            yield item if isinstance(item, Damage) else observer.observe(item)


def watched(
    source: VideoSource, wanted: Wanted, start: float = 0.0, end: float | None = None
) -> Iterator[Observation | Damage]:
    """Decode every picture of a video, or of a part of it, and yield the wanted measurements."""
    with opened(source) as video:
        if wanted.motion:
            export_vectors(video.stream)
        yield from _observed(Observer(wanted, start), pictures(video, start, end))


def _observed(
    observer: Observer, items: Iterable[Shown | Damage]
) -> Iterator[Observation | Damage]:
    for item in items:
        yield item if isinstance(item, Damage) else observer.observe(item)
