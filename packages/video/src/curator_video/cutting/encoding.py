"""Exact cutting: re-encode a clip so that it begins and ends at the requested pictures."""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

from curator_core.errors import InputError

from curator_video.clips import Encoded, Span
from curator_video.cutting.encoders import Encoder
from curator_video.cutting.files import drafted, kind_for
from curator_video.cutting.pictures import PictureMaker, ToneMapper, tag_track
from curator_video.cutting.priorities import as_before
from curator_video.cutting.sound import Heard, SoundTrack, Way, hear, with_sound
from curator_video.decoding import Damage, DamagedVideoError, Reel, Shown
from curator_video.opening import Opened, opened
from curator_video.sources import VideoSource

_TICK = Fraction(1, 90000)
_HELD = 0.25
"""Seconds. With a variable rate, pictures may be shown for longer, also across clip boundaries."""
_USUAL = Fraction(25)
_AHEAD = 3
"""Pictures. MP4 counts durations in decoding order, where the third from last may end a clip."""


class ExactCutter:
    """Cut clips by re-encoding: rotated for display, in 8 bits, with the original picture times.

    HDR is tone-mapped and interlaced video is deinterlaced; `changes` lists this. The video stays
    open, so that the next clip of it can continue where this one ended.
    """

    def __init__(self, encoder: Encoder, keep_audio: bool, refuses_hdr: bool = False) -> None:
        self._encoder = encoder
        self._keep_audio = keep_audio
        self._refuses_hdr = refuses_hdr
        self._mapper = ToneMapper()
        self._held = ExitStack()
        self._source: VideoSource | None = None
        self._ears: Opened | None = None

    def cut(self, span: Span) -> Encoded:
        if span.facts.color.hdr and self._refuses_hdr:
            raise InputError(
                f"{span.source.path} is HDR ({span.facts.color.hdr}), which exact clips of 8 bits "
                "cannot hold; set hdr: tone_map, or mode: copy"
            )
        goes_on = False
        try:
            made = with_sound(partial(self._made, span)) if self._keep_audio else self._made(span)
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

    def _made(self, span: Span, way: Way = "none") -> Encoded:
        import av

        if span.source != self._source or not self._reel.leads_to(span.start):
            self._turn_to(span.source)
        codec = av.Codec(self._encoder.name, "w").canonical_name
        kind, encoder = kind_for(codec, span.facts, way)
        heard: Heard | None = None
        changes: tuple[str, ...] = ()
        if way != "none":
            heard, changes = hear(self._heard(span.source), span.start, span.end, encoder)
        if heard is None:
            kind, _ = kind_for(codec, span.facts, "none")
        with drafted(kind) as draft:
            track = _track(draft.container, self._video, span, self._encoder)
            sound = None if heard is None else SoundTrack(draft.container, heard)
            tick = track.codec_context.time_base
            maker = PictureMaker(span.facts, span.start, tick, self._mapper)
            count, end = 0, span.start
            for shown in _whole(self._reel, span):
                for frame in maker.add(shown):
                    draft.container.mux(track.encode(frame))
                count, end = count + 1, shown.time
            for frame in (*maker.rest(), None):
                draft.container.mux(track.encode(frame))
            end = min(end + self._reel.step, max(span.end, end))
            if sound is not None:
                sound.write(end)
        return Encoded(
            draft.content,
            span.start,
            round(end, 6),
            count,
            codec,
            "exact",
            draft.extension,
            None if heard is None else heard.codec,
            (*maker.changes, *(changes if heard is None else heard.changes)),
        )

    def _heard(self, source: VideoSource) -> Opened:
        """Return the container to read sound from, without losing the position in the pictures."""
        if not self._reel.goes_on:
            return self._video
        if self._ears is None:
            self._ears = self._held.enter_context(opened(source))
        return self._ears


def _track(container: Any, video: Opened, span: Span, encoder: Encoder) -> Any:
    rate = video.stream.average_rate or video.stream.guessed_rate or _USUAL
    if span.facts.is_variable:
        rate = max(rate, _USUAL)  # for the last picture, whose duration the encoder does not know
    track: Any = container.add_stream(encoder.name, rate=rate)
    track.width, track.height = span.facts.width // 2 * 2, span.facts.height // 2 * 2
    track.pix_fmt = "yuv420p"
    track.options = encoder.options
    tag_track(track, span.facts)
    track.codec_context.thread_count = 1
    tick = video.stream.time_base  # a coarse time base would give two pictures the same time
    track.codec_context.time_base = tick if tick and tick < Fraction(1, 999) else _TICK
    with as_before():
        track.codec_context.open()
    return track


def _whole(reel: Reel, span: Span) -> Iterator[Shown]:
    """Yield the pictures of the clip; raise if any is missing.

    The pictures shown at its start and end are repeated at these times if needed.
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
    """Yield the previous picture again at this time if it is still shown."""
    if (shown := reel.held(at, is_variable=span.facts.may_hold_pictures)) is not None:
        yield shown
