"""Decoding: yield the pictures of a span in presentation order, and the damage.

Times are seconds from the first picture of the video. A picture without a timestamp, or with one
that goes back in time, gets its time from the frame rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from curator_video.opening import (
    Opened,
    UnreadableVideoError,
    packets,
    reason_of,
    rewind,
)
from curator_video.probing import duration_of, origin_of
from curator_video.reaching import Reach

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

_EPSILON = 1e-4
_USUAL = 0.04
"""Seconds. The usual minimum duration of a picture."""
_NEAR = 1.0
"""Seconds. Without a keyframe index, decode this much on the way to the next span rather than
seek."""
_GAP = 1.5
"""Frame steps. A picture that is this much later than the previous one may have a wrong time."""
_ENTRIES = 4
"""Number of keyframes to try before decoding the video from its beginning."""


class DamagedVideoError(UnreadableVideoError):
    """A part of a video cannot be decoded; other parts may be fine."""


@dataclass(frozen=True)
class Shown:
    """A decoded picture and its time."""

    time: float
    frame: "VideoFrame"


@dataclass(frozen=True)
class Damage:
    """A span that cannot be decoded, or not correctly."""

    start: float
    end: float
    reason: str

    def concerns(self, start: float, end: float | None) -> bool:
        """Return whether it overlaps a span, beyond just touching its start or end."""
        is_behind = end is not None and self.start >= end - _EPSILON
        is_before = self.end <= start + _EPSILON and self.start < start - _EPSILON
        return not (is_before or is_behind)


class Clock:
    """Times of pictures, repaired where the timestamps of the file are missing or wrong."""

    def __init__(self, video: Opened) -> None:
        rate = video.stream.average_rate or video.stream.guessed_rate
        self.step = float(1 / rate) if rate else 1 / 25
        self.now = -self.step
        self._tick = video.stream.time_base  # the last frames of a decoder have no time base
        self._over, self._under = self._tick.as_integer_ratio() if self._tick else (0, 1)
        self._origin = origin_of(video)
        self._is_avi = video.is_avi
        self._is_reordered = video.delay > 0
        self.early = float(video.delay * (self._tick or 0)) if video.is_unordered else 0.0
        """Seconds. A picture may be shown this much before the time of its packet."""

    def time_of(self, frame: "VideoFrame", first: float, *, is_wrong: bool = False) -> float:
        """Return the time of the next picture; `first` is used if the first has no timestamp."""
        told = None if is_wrong else self.of_frame(frame)
        time = max(self.now + self.step, first) if told is None else told
        if time <= self.now:
            time = self.now + self.step
        self.now = time
        return time

    def of_frame(self, frame: "VideoFrame") -> float | None:
        """Return the timestamp in the file as a time, with the same arithmetic as for packets.

        In AVI, a picture is shown when the packet is due after which the decoder returns it.
        """
        stamp = frame.dts if self._is_avi else frame.pts
        return None if stamp is None or self._tick is None else self.at(stamp)

    def is_ahead(self, frame: "VideoFrame") -> bool:
        """Return whether the picture comes after a gap, due to a variable rate or a wrong time."""
        told = self.of_frame(frame)
        return told is not None and self.now >= 0 and told > self.now + _GAP * self.step

    def is_before(self, frame: "VideoFrame", other: "VideoFrame") -> bool:
        told, others = self.of_frame(frame), self.of_frame(other)
        return told is not None and others is not None and told < others

    def of_packet(self, packet: "Packet[VideoStream]") -> float | None:
        stamp = packet.dts if packet.pts is None else packet.pts
        return None if stamp is None or self._tick is None else self.at(stamp)

    def earliest(self, packet: "Packet[VideoStream]") -> float | None:
        """Return the earliest time at which this packet, or any stored after it, is shown."""
        stamp = packet.dts
        if stamp is None and not self._is_reordered:
            stamp = packet.pts
        if stamp is None or self._tick is None:
            return None
        return self.at(stamp) + (self.early if packet.is_keyframe else 0.0)

    def length(self, packet: "Packet[VideoStream]", *, is_variable: bool) -> float:
        """Return how long the picture is shown; an estimate if rate and order vary."""
        if is_variable and self._is_reordered:
            return min(self.step, _USUAL)
        ticks = packet.duration
        return ticks * self._over / self._under if ticks else self.step

    def stamp(self, time: float) -> int:
        """Return the timestamp of a time; the inverse of `at`."""
        return int((time + self._origin) / self._tick) if self._tick else 0

    def ticks(self, seconds: float) -> int:
        return round(seconds / self._tick) if self._tick else 0

    def at(self, stamp: int) -> float:
        return stamp * self._over / self._under - self._origin  # exact, and faster than fractions


def pictures(
    video: Opened, start: float = 0.0, end: float | None = None
) -> Iterator[Shown | Damage]:
    """Yield the pictures from `start` up to `end`, and damage where it occurs.

    Decoding begins at the last keyframe before `start`; pictures before `start` are not yielded.
    """
    return Reel(video).pictures(start, end)


class Reel:
    """A video decoded span by span; each span continues where the last one ended if possible."""

    def __init__(self, video: Opened) -> None:
        self._video = video
        self._ahead: Shown | None = None
        self._end = 0.0
        self._is_over = False
        self.latest: Shown | None = None
        """The last picture decoded before the next one; it may be from before the span."""

    @property
    def goes_on(self) -> bool:
        """Whether decoding may continue at the current position for the next span."""
        return self._ahead is not None

    @property
    def step(self) -> float:
        """Seconds between pictures at a constant rate."""
        return self._clock.step

    def leads_to(self, start: float) -> bool:
        """Return whether to continue decoding to reach `start` rather than seek to a keyframe."""
        if self._ahead is None or start < self._end:
            return False
        keyframe = _keyframe_before(self._video, self._clock, start)
        farthest = start - _NEAR if keyframe is None else keyframe
        return farthest <= self._ahead.time + _EPSILON

    def held(self, at: float, *, is_variable: bool) -> Shown | None:
        """Return the latest picture again if it is still shown at this time.

        With a variable rate it is shown until the next picture; otherwise only the last picture can
        be held.
        """
        is_there = self._passage.reach.end > at + _EPSILON if self._is_over else is_variable
        return Shown(at, self.latest.frame) if is_there and self.latest is not None else None

    def pictures(self, start: float, end: float | None = None) -> Iterator[Shown | Damage]:
        """Yield the pictures of a span like the function `pictures`, from any position."""
        is_whole, self._is_over = True, False
        for item in self._from(start):
            if isinstance(item, Damage):
                is_whole = False
                if item.concerns(start, end):
                    yield item
                continue
            if end is not None and item.time >= end - _EPSILON:
                is_told = self._clock.of_frame(item.frame) == item.time
                if is_whole and is_told:  # otherwise times might differ from those after a seek
                    self._ahead, self._end = item, end
                return
            if item.time >= start - _EPSILON:
                yield item
            self.latest = item
        self._is_over = True
        yield from self._rest(start, end)

    def _from(self, start: float) -> Iterator[Shown | Damage]:
        ahead, goes_on = self._ahead, self.leads_to(start)
        self._ahead = None
        if ahead is not None and goes_on:
            return chain((ahead,), self._items)
        return self._entered(start)

    def _entered(self, start: float) -> Iterator[Shown | Damage]:
        """Seek to a keyframe; to an earlier one if it gives no picture (as with intra refresh)."""
        place: float | None = start
        self.latest = None
        for left in reversed(range(_ENTRIES)):
            place = go_to(self._video, place if place and left else 0.0)
            self._clock = Clock(self._video)
            self._passage = _Passage(self._video, self._clock, is_whole=place is None)
            self._items: Iterator[Shown | Damage] = self._passage.items(place or 0.0)
            first = next(self._items, None)
            if place is None or self._passage.is_broken or not self._lacks(place, first, start):
                break
            place -= self._clock.step / 2
        return chain(() if first is None else (first,), self._items)

    def _lacks(self, place: float, first: Shown | Damage | None, start: float) -> bool:
        """Return whether pictures are missing between the keyframe and the first decoded one."""
        if isinstance(first, Damage):
            return False
        steps = 0.5 if self._video.is_unordered else 1.5
        late = max(start + _EPSILON, place + steps * self._clock.step)
        return first is None or first.time > late

    def _rest(self, start: float, end: float | None) -> Iterator[Damage]:
        rest = self._passage.rest()
        missing = _missing_end(self._video, self._clock, self._passage.reach, end)
        if missing is not None:
            yield missing if rest is None else replace(missing, start=rest.start)
        elif rest is not None and rest.concerns(start, end):
            yield rest


_STEPS_BACK = (0.0, 2.0, 8.0, 30.0)
"""Seconds. Without an index, seeking may end up after the wanted keyframe."""


def go_to(video: Opened, start: float) -> float | None:
    """Seek to the last keyframe before `start`, or to an earlier one without an index.

    Return its time, or None for the beginning of the file.
    """
    clock = Clock(video)
    for back in _STEPS_BACK:
        if start - back <= 0:
            break
        if (place := _enter(video, clock, start - back)) <= start + _EPSILON:
            _seek(video, clock, start - back)
            return place
    rewind(video.container)
    return None


def _keyframe_before(video: Opened, clock: Clock, time: float) -> float | None:
    """Return the keyframe time according to the index; None if the index may be incomplete."""
    entries = video.stream.index_entries
    is_whole = video.stream.frames == len(entries) or "matroska" in video.container.format.name
    if not len(entries) or not is_whole or clock.at(entries[-1].timestamp) < time:
        return None
    place = entries.search_timestamp(clock.stamp(time))
    return clock.at(entries[place].timestamp) if place >= 0 else None


def _enter(video: Opened, clock: Clock, time: float) -> float:
    """Seek, and return the time of the next keyframe."""
    import av

    if not _seek(video, clock, time):
        return float("inf")
    try:
        for packet in islice(packets(video), 1000):
            if packet.is_keyframe and (found := clock.of_packet(packet)) is not None:
                return found
    except av.FFmpegError:
        pass
    return float("inf")


def _seek(video: Opened, clock: Clock, time: float) -> bool:
    import av

    try:
        video.container.seek(clock.stamp(time), stream=video.stream, backward=True)
    except av.FFmpegError:
        return False
    return True


class _Passage:
    """One pass through the packets.

    A damaged packet invalidates its pictures and the following ones up to the next keyframe,
    because they may depend on the lost data.
    """

    def __init__(self, video: Opened, clock: Clock, *, is_whole: bool) -> None:
        self._video = video
        self._clock = clock
        self._is_begun = is_whole
        self._broken: Damage | None = None
        self.reach = Reach(video, clock)

    def items(self, start: float) -> Iterator[Shown | Damage]:
        for time, frame in self._timed(start):
            if frame.is_corrupt:
                self._break("damaged pictures", time)
            if self._broken is None or time < self._broken.start:
                yield Shown(time, frame)
            elif frame.key_frame and not frame.is_corrupt:
                yield from self._mended(time)
                yield Shown(time, frame)

    def _timed(self, start: float) -> "Iterator[tuple[float, VideoFrame]]":
        """Yield frames with times.

        Hold a frame after a gap: if the next is earlier, its time is wrong.
        """
        clock, ahead = self._clock, None
        for frame in (frame for packet in self._packets() for frame in self._decoded(packet)):
            if ahead is not None:
                yield clock.time_of(ahead, start, is_wrong=clock.is_before(frame, ahead)), ahead
                ahead = None
            if clock.is_ahead(frame):
                ahead = frame
            else:
                yield clock.time_of(frame, start), frame
        if ahead is not None:
            yield clock.time_of(ahead, start), ahead

    @property
    def is_broken(self) -> bool:
        return self._broken is not None

    def rest(self) -> Damage | None:
        """Return the damage that no intact keyframe followed."""
        return next(self._mended(self._clock.now + self._clock.step), None)

    def _packets(self) -> "Iterator[Packet[VideoStream]]":
        import av

        try:
            for packet in packets(self._video):
                # Seeking may end before the keyframe, and not all decoders wait for it.
                self._is_begun = self._is_begun or packet.is_keyframe
                if not self._is_begun:
                    continue
                self.reach.add(packet)
                if packet.is_corrupt:  # parts were lost; few decoders notice
                    self._break_at(packet, "damaged packets")
                yield packet
        except av.FFmpegError as error:
            self._break(reason_of(error), self._clock.now + self._clock.step)

    def _decoded(self, packet: "Packet[VideoStream]") -> "list[VideoFrame]":
        import av

        try:
            return [frame for frame in packet.decode() if isinstance(frame, av.VideoFrame)]
        except av.FFmpegError as error:
            self._break_at(packet, reason_of(error))
            return []

    def _break_at(self, packet: "Packet[VideoStream]", reason: str) -> None:
        clock, at = self._clock, self._clock.of_packet(packet)
        self._break(reason, clock.now + clock.step if at is None else at - clock.early)

    def _break(self, reason: str, time: float) -> None:
        known = self._broken
        if known is None or time < known.start:
            self._broken = Damage(max(0.0, time), time, known.reason if known else reason)

    def _mended(self, time: float) -> Iterator[Damage]:
        """Yield the current damage once an intact keyframe follows it."""
        if self._broken is not None:
            yield replace(self._broken, end=max(time, self._broken.start))
            self._broken = None


def _missing_end(video: Opened, clock: Clock, reach: Reach, end: float | None) -> Damage | None:
    told = duration_of(video)
    last = clock.now + clock.step
    wanted = told if end is None else min(told, end)
    if video.container.streams.audio and not video.stream.duration and end is None:
        return None  # the sound may be longer than the pictures
    if not reach.lacks(wanted, last):
        return None
    last = max(last, min(reach.end, wanted))
    return Damage(last, wanted, f"the pictures end after {last:.1f} of {told:.1f} s")
