"""Exact cutting: re-encode a clip so that it begins and ends at the requested frames."""

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

from curator_core.errors import InputError

from curator_video.container import OpenVideo, open_video
from curator_video.cutting.encoders import VideoEncoder, keep_thread_priorities
from curator_video.cutting.frame_preparation import FramePreparer, ToneMapper, tag_track
from curator_video.cutting.output_container import choose_container, open_output
from curator_video.cutting.sound import (
    ClipSound,
    SoundHandling,
    SoundTrack,
    cut_with_sound,
    read_clip_sound,
)
from curator_video.decoding import DamagedSpan, DamagedVideoError, SpanDecoder, TimedFrame
from curator_video.source import VideoSource
from curator_video.tasks import ClipSpan, EncodedClip

_TICK = Fraction(1, 90000)
_LONG_FRAME_S = 0.25
"""Seconds. With a variable rate, frames may be shown for longer, also across clip boundaries."""

_USUAL_FPS = Fraction(25)
_REPEATS = 3
"""Repeated frames at the end. MP4 counts durations in decoding order, where the third from last
frame may end a clip."""


class ExactCutter:
    """Cut clips by re-encoding: rotated for display, in 8 bits, with the original frame times.

    HDR is tone-mapped and interlaced video is deinterlaced; `changes` lists this. The video stays
    open, so that the next clip of it can continue where this one ended.
    """

    def __init__(self, encoder: VideoEncoder, keep_audio: bool, refuses_hdr: bool = False) -> None:
        self._encoder = encoder
        self._keep_audio = keep_audio
        self._refuses_hdr = refuses_hdr
        self._mapper = ToneMapper()
        self._open_files = ExitStack()
        self._source: VideoSource | None = None
        self._sound_video: OpenVideo | None = None

    def cut(self, span: ClipSpan) -> EncodedClip:
        if span.facts.color.hdr and self._refuses_hdr:
            raise InputError(
                f"{span.source.path} is HDR ({span.facts.color.hdr}), which 8-bit clips cannot "
                "hold; set hdr: tone_map, or mode: copy"
            )
        can_continue = False
        try:
            encoded = (
                cut_with_sound(partial(self._encode, span))
                if self._keep_audio
                else self._encode(span)
            )
            can_continue = self._decoder.can_continue
        finally:
            if not can_continue:
                self.close()
        return encoded

    def close(self) -> None:
        self._source = self._sound_video = None
        self._open_files.close()

    def _open(self, source: VideoSource) -> None:
        self.close()
        self._video = self._open_files.enter_context(open_video(source))
        self._decoder, self._source = SpanDecoder(self._video), source

    def _encode(self, span: ClipSpan, handling: SoundHandling = "none") -> EncodedClip:
        import av

        if span.source != self._source or not self._decoder.can_reach(span.start):
            self._open(span.source)
        codec = av.Codec(self._encoder.name, "w").canonical_name
        kind, encoder = choose_container(codec, span.facts, handling)
        sound: ClipSound | None = None
        changes: tuple[str, ...] = ()
        if handling != "none":
            sound, changes = read_clip_sound(
                self._sound_input(span.source), span.start, span.end, encoder
            )
        if sound is None:
            kind, _ = choose_container(codec, span.facts, "none")
        with open_output(kind) as output:
            track = _add_track(output.container, self._video, span, self._encoder)
            audio_track = None if sound is None else SoundTrack(output.container, sound)
            tick = track.codec_context.time_base
            preparer = FramePreparer(span.facts, span.start, tick, self._mapper)
            count, end = 0, span.start
            for timed in _required_frames(self._decoder, span):
                for frame in preparer.add(timed):
                    output.container.mux(track.encode(frame))
                count, end = count + 1, timed.time
            for frame in (*preparer.finish(), None):
                output.container.mux(track.encode(frame))
            end = min(end + self._decoder.step, max(span.end, end))
            if audio_track is not None:
                audio_track.write(end)
        return EncodedClip(
            output.content,
            span.start,
            round(end, 6),
            count,
            codec,
            "exact",
            output.extension,
            None if sound is None else sound.codec,
            (*preparer.changes, *(changes if sound is None else sound.changes)),
        )

    def _sound_input(self, source: VideoSource) -> OpenVideo:
        """Return the container to read sound from, without losing the position in the frames."""
        if not self._decoder.can_continue:
            return self._video
        if self._sound_video is None:
            self._sound_video = self._open_files.enter_context(open_video(source))
        return self._sound_video


def _add_track(container: Any, video: OpenVideo, span: ClipSpan, encoder: VideoEncoder) -> Any:
    rate = video.stream.average_rate or video.stream.guessed_rate or _USUAL_FPS
    if span.facts.is_variable:
        rate = max(rate, _USUAL_FPS)  # for the last frame, whose duration the encoder does not know
    track: Any = container.add_stream(encoder.name, rate=rate)
    track.width, track.height = span.facts.width // 2 * 2, span.facts.height // 2 * 2
    track.pix_fmt = "yuv420p"
    track.options = encoder.options
    tag_track(track, span.facts)
    track.codec_context.thread_count = 1
    tick = video.stream.time_base  # a coarse time base would give two frames the same time
    track.codec_context.time_base = tick if tick and tick < Fraction(1, 999) else _TICK
    with keep_thread_priorities():
        track.codec_context.open()
    return track


def _required_frames(decoder: SpanDecoder, span: ClipSpan) -> Iterator[TimedFrame]:
    """Yield the frames of the clip; raise if any is missing.

    The frames shown at its start and end are repeated at these times if needed.
    """
    last: TimedFrame | None = None
    for item in decoder.frames(span.start, span.end):
        if isinstance(item, DamagedSpan):
            raise DamagedVideoError(
                f"{span.source.path} is damaged from {item.start:.2f} to {item.end:.2f} s: "
                f"{item.reason}"
            )
        if last is None and item.time > span.start + _LONG_FRAME_S:
            yield from _repeat_held_frame(decoder, span, span.start)
        last = item
        yield item
    if last is None:
        last = next(_repeat_held_frame(decoder, span, span.start), None)
        if last is None:
            raise DamagedVideoError(
                f"{span.source.path} has no frames between {span.start:.2f} and {span.end:.2f} s"
            )
        yield last
    if last.time < span.end - _LONG_FRAME_S:
        step = min(decoder.step, float(1 / _USUAL_FPS))
        for before in range(_REPEATS, 0, -1):
            yield from _repeat_held_frame(decoder, span, span.end - before * step)


def _repeat_held_frame(decoder: SpanDecoder, span: ClipSpan, at: float) -> Iterator[TimedFrame]:
    """Yield the previous frame again at this time if it is still shown."""
    if (held := decoder.held_frame(at, is_variable=span.facts.may_hold_frames)) is not None:
        yield held
