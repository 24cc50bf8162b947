"""Encoding: a clip that begins and ends at the very pictures that were asked for."""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from curator_video.clips import Encoded, Span
from curator_video.cutting.encoders import Encoder
from curator_video.cutting.files import drafted, kind_for
from curator_video.cutting.priorities import as_before
from curator_video.cutting.sound import SoundTrack
from curator_video.decoding import Damage, DamagedVideoError, Reel, Shown
from curator_video.opening import Opened, opened
from curator_video.sources import VideoSource

if TYPE_CHECKING:
    from av import VideoFrame

_TURNS = {90: "transpose=cclock", 180: "hflip,vflip", 270: "transpose=clock"}
_TICK = Fraction(1, 90000)
_HELD = 0.25
"""Seconds. In a variable rate pictures may be shown for longer than this, and across clips."""
_USUAL = Fraction(25)
_AHEAD = 3
"""Pictures. MP4 counts in the order of storing, in which the last but two may end a clip."""


class ExactCutter:
    """Cuts clips that are turned as they are shown, in 8 bits, at the times their pictures had.

    The video of a clip stays open for the next one, which then goes on where the last one ended.
    """

    def __init__(self, encoder: Encoder, keep_audio: bool) -> None:
        self._encoder = encoder
        self._keep_audio = keep_audio
        self._held = ExitStack()
        self._source: VideoSource | None = None
        self._ears: Opened | None = None

    def cut(self, span: Span) -> Encoded:
        if span.source != self._source or not self._reel.leads_to(span.start):
            self._turn_to(span.source)
        goes_on = False
        try:
            made = self._made(span)
            goes_on = self._reel.goes_on
        finally:
            if not goes_on:
                self.close()
        return made

    def close(self) -> None:
        self._source = self._ears = None
        self._held.close()

    def _turn_to(self, source: VideoSource) -> None:
        self.close()
        self._video = self._held.enter_context(opened(source))
        self._reel, self._source = Reel(self._video), source

    def _made(self, span: Span) -> Encoded:
        import av

        video = self._video
        audio = span.facts.audio if self._keep_audio else None
        codec = av.Codec(self._encoder.name, "w").canonical_name
        with drafted(kind_for(codec, audio)) as draft:
            track = _track(draft.container, video, span, self._encoder)
            sound = SoundTrack(draft.container, video) if audio else None
            count, end = 0, span.start
            ready = _Readiness(span, track.codec_context.time_base)
            for shown in _whole(self._reel, span):
                draft.container.mux(track.encode(ready.made(shown)))
                count, end = count + 1, shown.time
            draft.container.mux(track.encode(None))
            end = min(end + self._reel.step, max(span.end, end))
            if sound is not None:
                sound.write(self._heard(span.source), span.start, end)
        edges = (span.start, round(end, 6))
        return Encoded(draft.content, *edges, count, codec, "exact", draft.extension)

    def _heard(self, source: VideoSource) -> Opened:
        """What sound is read from: it must not leave pictures that are still to come behind."""
        if not self._reel.goes_on:
            return self._video
        if self._ears is None:
            self._ears = self._held.enter_context(opened(source))
        return self._ears


def _track(container: Any, video: Opened, span: Span, encoder: Encoder) -> Any:
    rate = video.stream.average_rate or video.stream.guessed_rate or _USUAL
    if span.facts.is_variable:
        rate = max(rate, _USUAL)  # for what is shown last, of which the encoder knows no end
    track: Any = container.add_stream(encoder.name, rate=rate)
    track.width, track.height = span.facts.width // 2 * 2, span.facts.height // 2 * 2
    track.pix_fmt = "yuv420p"
    track.options = encoder.options
    track.codec_context.thread_count = 1
    tick = video.stream.time_base  # a coarse one would give two pictures the same time
    track.codec_context.time_base = tick if tick and tick < Fraction(1, 999) else _TICK
    with as_before():
        track.codec_context.open()
    return track


def _whole(reel: Reel, span: Span) -> Iterator[Shown]:
    """The pictures of the clip, of which none may be missing.

    What is shown when it begins, and when it ends, is there at these times, too.
    """
    last: Shown | None = None
    for item in reel.pictures(span.start, span.end):
        if isinstance(item, Damage):
            raise DamagedVideoError(
                f"{span.source.path} is damaged from {item.start:.2f} to {item.end:.2f} s: "
                f"{item.reason}"
            )
        if last is None and item.time > span.start + _HELD:
            yield from _held(reel, span, span.start)
        last = item
        yield item
    if last is None:
        last = next(_held(reel, span, span.start), None)
        if last is None:
            raise DamagedVideoError(
                f"{span.source.path} has no pictures between {span.start:.2f} and {span.end:.2f} s"
            )
        yield last
    if last.time < span.end - _HELD:
        step = min(reel.step, float(1 / _USUAL))
        for before in range(_AHEAD, 0, -1):
            yield from _held(reel, span, span.end - before * step)


def _held(reel: Reel, span: Span, at: float) -> Iterator[Shown]:
    """The picture that was shown last, once more, where it is still there."""
    if (shown := reel.held(at, is_variable=span.facts.is_variable)) is not None:
        yield shown


class _Turning:
    """A graph of filters that turns pictures, and takes an odd row or column away."""

    def __init__(self, frame: "VideoFrame", steps: str) -> None:
        import av.filter

        self._graph = av.filter.Graph()
        nodes = [
            self._graph.add_buffer(
                width=frame.width,
                height=frame.height,
                format=frame.format,
                time_base=frame.time_base or _TICK,
            )
        ]
        for step in steps.split(","):
            name, _, options = step.partition("=")
            nodes.append(self._graph.add(name, options or None))
        nodes.append(self._graph.add("buffersink"))
        self._graph.link_nodes(*nodes).configure()

    def turned(self, frame: "VideoFrame") -> Any:
        self._graph.push(frame)
        return self._graph.pull()


class _Readiness:
    """Makes pictures ready for the encoder: their time, their sides, their format."""

    def __init__(self, span: Span, tick: Fraction) -> None:
        self._span = span
        self._tick = tick
        self._turning: _Turning | None = None

    def made(self, shown: Shown) -> Any:
        frame: Any = shown.frame
        steps = _steps(self._span, frame)
        if steps:
            if self._turning is None:
                self._turning = _Turning(frame, steps)
            frame = self._turning.turned(frame)
        if frame.format.name != "yuv420p":
            frame = frame.reformat(format="yuv420p")
        frame.pts = round((shown.time - self._span.start) / self._tick)
        frame.time_base = self._tick
        frame.pict_type = 0  # the encoder decides, not what it was before
        return frame


def _steps(span: Span, frame: "VideoFrame") -> str:
    steps = [_TURNS[span.facts.rotation]] if span.facts.rotation in _TURNS else []
    if frame.width % 2 or frame.height % 2:
        steps.insert(0, "format=yuv444p")  # where each pixel has a colour of its own
        steps.append("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0")
    return ",".join(steps)
