"""One shared decode: measure in a span everything that several stages need."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from curator_video.analysis.measurements import (
    MOTION_FPS,
    ClipAnalysis,
    FrameAnalyzer,
    FrameMeasurements,
    FrameNeeds,
)
from curator_video.analysis.motion import export_motion_vectors
from curator_video.analysis.sampling import MissingFrame, Sampling, decode_samples
from curator_video.container import open_video
from curator_video.decoding import (
    DamagedSpan,
    DamagedVideoError,
    SpanDecoder,
    TimedFrame,
    decode_frames,
)
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan


def analyze_span(span: ClipSpan, needs: FrameNeeds) -> ClipAnalysis:
    """Decode and measure a span; raise DamagedVideoError if a part cannot be decoded."""
    found: list[FrameMeasurements] = []
    for item in _measure_span(span, needs):
        if isinstance(item, DamagedSpan):
            raise DamagedVideoError(
                f"{span.source.path} is damaged from {item.start:.2f} to {item.end:.2f} s: "
                f"{item.reason}"
            )
        found.append(item)
    if not found and (held := _measure_held_frame(span, needs)) is not None:
        found.append(held)
    if not found:
        raise DamagedVideoError(
            f"{span.source.path} has no frames between {span.start:.2f} and {span.end:.2f} s"
        )
    return ClipAnalysis(needs, found)


def _measure_held_frame(span: ClipSpan, needs: FrameNeeds) -> FrameMeasurements | None:
    """Return the still frame shown throughout a span in which no frame begins."""
    with open_video(span.source) as video:
        decoder = SpanDecoder(video)
        deque(decoder.frames(span.start, span.end), maxlen=0)
        shown = decoder.held_frame(span.start, is_variable=span.facts.may_hold_frames)
        still = replace(needs, motion=False)
        return None if shown is None else FrameAnalyzer(still).measure(shown)


def _measure_span(span: ClipSpan, needs: FrameNeeds) -> Iterator[FrameMeasurements | DamagedSpan]:
    # AVI has no presentation timestamps: frames cannot be selected before they are decoded.
    if needs.needs_every_frame or span.facts.container == "avi":
        yield from measure_frames(span.source, needs, span.start, span.end)
        return
    sharp = {Sampling(MOTION_FPS)} if needs.sharpness else set()
    with open_video(span.source) as video:
        analyzer = FrameAnalyzer(needs, span.start)
        for item in decode_samples(video, needs.frames | sharp, span.start, span.end):
            if isinstance(item, MissingFrame):
                yield from _measure_all(analyzer, decode_frames(video, item.time, span.end))
                return
            yield item if isinstance(item, DamagedSpan) else analyzer.measure(item)


def measure_frames(
    source: VideoSource, needs: FrameNeeds, start: float = 0.0, end: float | None = None
) -> Iterator[FrameMeasurements | DamagedSpan]:
    """Decode every frame of a video, or of a part of it, and yield its measurements."""
    with open_video(source) as video:
        if needs.motion:
            export_motion_vectors(video.stream)
        yield from _measure_all(FrameAnalyzer(needs, start), decode_frames(video, start, end))


def _measure_all(
    analyzer: FrameAnalyzer, items: Iterable[TimedFrame | DamagedSpan]
) -> Iterator[FrameMeasurements | DamagedSpan]:
    for item in items:
        yield item if isinstance(item, DamagedSpan) else analyzer.measure(item)
