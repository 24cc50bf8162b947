"""Decoding: the frames of a span in presentation order, and any damage.

Times are seconds from the first frame of the video. A frame without a timestamp, or with one
that goes back in time, gets its time from the frame rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from curator_video.container import (
    OpenVideo,
    UnreadableVideoError,
    error_text,
    header_duration,
    read_packets,
)
from curator_video.timeline import FrameClock, FrameCoverage, keyframe_before, seek_keyframe

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

_EPSILON = 1e-4
_DECODE_AHEAD_S = 1.0
"""Seconds. Without a keyframe index, decode this much on the way to the next span rather than
seek."""

_KEYFRAMES_TRIED = 4
"""Number of keyframes to try before decoding the video from its beginning."""


class DamagedVideoError(UnreadableVideoError):
    """A part of a video cannot be decoded; other parts may be fine."""


@dataclass(frozen=True)
class TimedFrame:
    """A decoded frame and its time."""

    time: float
    frame: "VideoFrame"


@dataclass(frozen=True)
class DamagedSpan:
    """A span that cannot be decoded, or not correctly."""

    start: float
    end: float
    reason: str

    def affects(self, start: float, end: float | None) -> bool:
        """Return whether it overlaps a span, beyond just touching its start or end."""
        is_after = end is not None and self.start >= end - _EPSILON
        is_before = self.end <= start + _EPSILON and self.start < start - _EPSILON
        return not (is_before or is_after)


def decode_frames(
    video: OpenVideo, start: float = 0.0, end: float | None = None
) -> Iterator[TimedFrame | DamagedSpan]:
    """Yield the frames from `start` up to `end`, and damage where it occurs.

    Decoding begins at the last keyframe before `start`; frames before `start` are not yielded.
    """
    return SpanDecoder(video).frames(start, end)


class SpanDecoder:
    """Decode a video span by span, continuing where the last span ended if possible."""

    def __init__(self, video: OpenVideo) -> None:
        self._video = video
        self._ahead: TimedFrame | None = None
        self._end = 0.0
        self._reached_end = False
        self.latest: TimedFrame | None = None
        """The frame decoded before the current one; it may precede the span."""

    @property
    def can_continue(self) -> bool:
        """Whether decoding may continue at the current position for the next span."""
        return self._ahead is not None

    @property
    def step(self) -> float:
        """Seconds between frames at a constant rate."""
        return self._clock.step

    def can_reach(self, start: float) -> bool:
        """Return whether to continue decoding to reach `start` rather than seek to a keyframe."""
        if self._ahead is None or start < self._end:
            return False
        keyframe = keyframe_before(self._video, self._clock, start)
        farthest = start - _DECODE_AHEAD_S if keyframe is None else keyframe
        return farthest <= self._ahead.time + _EPSILON

    def held_frame(self, at: float, *, is_variable: bool) -> TimedFrame | None:
        """Return the latest frame again if it is still shown at this time.

        With a variable rate it is shown until the next frame; otherwise only the last frame can
        be held.
        """
        is_available = (
            self._decoder.coverage.end > at + _EPSILON if self._reached_end else is_variable
        )
        return (
            TimedFrame(at, self.latest.frame) if is_available and self.latest is not None else None
        )

    def frames(self, start: float, end: float | None = None) -> Iterator[TimedFrame | DamagedSpan]:
        """Yield the frames of a span, continuing at the current position if possible."""
        is_whole, self._reached_end = True, False
        for item in self._frames_from(start):
            if isinstance(item, DamagedSpan):
                is_whole = False
                if item.affects(start, end):
                    yield item
                continue
            if end is not None and item.time >= end - _EPSILON:
                has_own_time = self._clock.frame_time(item.frame) == item.time
                if (
                    is_whole and has_own_time
                ):  # otherwise times might differ from those after a seek
                    self._ahead, self._end = item, end
                return
            if item.time >= start - _EPSILON:
                yield item
            self.latest = item
        self._reached_end = True
        yield from self._final_damage(start, end)

    def _frames_from(self, start: float) -> Iterator[TimedFrame | DamagedSpan]:
        ahead, can_continue = self._ahead, self.can_reach(start)
        self._ahead = None
        if ahead is not None and can_continue:
            return chain((ahead,), self._items)
        return self._seek_and_decode(start)

    def _seek_and_decode(self, start: float) -> Iterator[TimedFrame | DamagedSpan]:
        """Seek to a keyframe; to an earlier one if it gives no frame (as with intra refresh)."""
        keyframe: float | None = start
        self.latest = None
        for left in reversed(range(_KEYFRAMES_TRIED)):
            keyframe = seek_keyframe(self._video, keyframe if keyframe and left else 0.0)
            self._clock = FrameClock(self._video)
            self._decoder = _PacketDecoder(self._video, self._clock, is_whole=keyframe is None)
            self._items: Iterator[TimedFrame | DamagedSpan] = self._decoder.items(keyframe or 0.0)
            first = next(self._items, None)
            if (
                keyframe is None
                or self._decoder.is_damaged
                or not self._skips_frames(keyframe, first, start)
            ):
                break
            keyframe -= self._clock.step / 2
        return chain(() if first is None else (first,), self._items)

    def _skips_frames(
        self, keyframe: float, first: TimedFrame | DamagedSpan | None, start: float
    ) -> bool:
        """Return whether frames are missing between the keyframe and the first decoded one."""
        if isinstance(first, DamagedSpan):
            return False
        steps = 0.5 if self._video.is_unordered else 1.5
        late = max(start + _EPSILON, keyframe + steps * self._clock.step)
        return first is None or first.time > late

    def _final_damage(self, start: float, end: float | None) -> Iterator[DamagedSpan]:
        damage = self._decoder.open_damage()
        missing = _missing_end(self._video, self._clock, self._decoder.coverage, end)
        if missing is not None:
            yield missing if damage is None else replace(missing, start=damage.start)
        elif damage is not None and damage.affects(start, end):
            yield damage


class _PacketDecoder:
    """One pass through the packets.

    A damaged packet invalidates its frames and the following ones up to the next keyframe,
    because they may depend on the lost data.
    """

    def __init__(self, video: OpenVideo, clock: FrameClock, *, is_whole: bool) -> None:
        self._video = video
        self._clock = clock
        self._has_keyframe = is_whole
        self._damage: DamagedSpan | None = None
        self.coverage = FrameCoverage(video, clock)

    def items(self, start: float) -> Iterator[TimedFrame | DamagedSpan]:
        for time, frame in self._timed_frames(start):
            if frame.is_corrupt:
                self._note_damage("damaged frames", time)
            if self._damage is None or time < self._damage.start:
                yield TimedFrame(time, frame)
            elif frame.key_frame and not frame.is_corrupt:
                yield from self._end_damage(time)
                yield TimedFrame(time, frame)

    def _timed_frames(self, start: float) -> "Iterator[tuple[float, VideoFrame]]":
        """Yield frames with times.

        Hold a frame after a gap: if the next is earlier, its time is wrong.
        """
        clock, ahead = self._clock, None
        for frame in (frame for packet in self._read_packets() for frame in self._decode(packet)):
            if ahead is not None:
                yield clock.next_time(ahead, start, is_wrong=clock.is_before(frame, ahead)), ahead
                ahead = None
            if clock.is_after_gap(frame):
                ahead = frame
            else:
                yield clock.next_time(frame, start), frame
        if ahead is not None:
            yield clock.next_time(ahead, start), ahead

    @property
    def is_damaged(self) -> bool:
        return self._damage is not None

    def open_damage(self) -> DamagedSpan | None:
        """Return the damage that no intact keyframe followed."""
        return next(self._end_damage(self._clock.now + self._clock.step), None)

    def _read_packets(self) -> "Iterator[Packet[VideoStream]]":
        import av

        try:
            for packet in read_packets(self._video):
                # Seeking may end before the keyframe, and not all decoders wait for it.
                self._has_keyframe = self._has_keyframe or packet.is_keyframe
                if not self._has_keyframe:
                    continue
                self.coverage.add(packet)
                if packet.is_corrupt:  # parts were lost; few decoders notice
                    self._note_damaged_packet(packet, "damaged packets")
                yield packet
        except av.FFmpegError as error:
            self._note_damage(error_text(error), self._clock.now + self._clock.step)

    def _decode(self, packet: "Packet[VideoStream]") -> "list[VideoFrame]":
        import av

        try:
            return [frame for frame in packet.decode() if isinstance(frame, av.VideoFrame)]
        except av.FFmpegError as error:
            self._note_damaged_packet(packet, error_text(error))
            return []

    def _note_damaged_packet(self, packet: "Packet[VideoStream]", reason: str) -> None:
        clock, at = self._clock, self._clock.packet_time(packet)
        self._note_damage(reason, clock.now + clock.step if at is None else at - clock.early)

    def _note_damage(self, reason: str, time: float) -> None:
        known = self._damage
        if known is None or time < known.start:
            self._damage = DamagedSpan(max(0.0, time), time, known.reason if known else reason)

    def _end_damage(self, time: float) -> Iterator[DamagedSpan]:
        """Yield the current damage once an intact keyframe follows it."""
        if self._damage is not None:
            yield replace(self._damage, end=max(time, self._damage.start))
            self._damage = None


def _missing_end(
    video: OpenVideo, clock: FrameClock, coverage: FrameCoverage, end: float | None
) -> DamagedSpan | None:
    declared = header_duration(video)
    last = clock.now + clock.step
    expected = declared if end is None else min(declared, end)
    if video.container.streams.audio and not video.stream.duration and end is None:
        return None  # the sound may be longer than the video track
    if not coverage.is_missing(expected, last):
        return None
    last = max(last, min(coverage.end, expected))
    return DamagedSpan(last, expected, f"the frames end after {last:.1f} of {declared:.1f} s")
