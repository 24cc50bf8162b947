"""The timeline of a video: frame times, seeking, and the end of the last frame."""

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from curator_video.container import (
    END_TOLERANCE_S,
    OpenVideo,
    first_frame_time,
    open_video,
    read_packets,
    rewind,
)
from curator_video.probing import VideoFacts
from curator_video.source import VideoSource

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

_EPSILON = 1e-4
_USUAL_FRAME_S = 0.04
"""The usual minimum duration of a frame."""

_GAP = 1.5
"""Frame steps. A frame that is this much later than the previous one may have a wrong time."""

_STEPS_BACK = (0.0, 2.0, 8.0, 30.0)
"""Seconds. Without an index, seeking may end up after the keyframe sought."""

_MAX_HELD_S = 60.0
"""Seconds. With a variable rate, a frame that is shown for longer than this has a wrong time."""


class FrameClock:
    """Times of frames, repaired where the timestamps of the file are missing or wrong."""

    def __init__(self, video: OpenVideo) -> None:
        rate = video.stream.average_rate or video.stream.guessed_rate
        self.step = float(1 / rate) if rate else 1 / 25
        self.now = -self.step
        self._tick = video.stream.time_base  # the last frames of a decoder have no time base
        self._numerator, self._denominator = self._tick.as_integer_ratio() if self._tick else (0, 1)
        self._origin = first_frame_time(video)
        self._is_avi = video.is_avi
        self._is_reordered = video.delay > 0
        self.early = float(video.delay * (self._tick or 0)) if video.is_unordered else 0.0
        """Seconds. A frame may be shown this much before the time of its packet."""

    def next_time(self, frame: "VideoFrame", first: float, *, is_wrong: bool = False) -> float:
        """Return the time of the next frame; `first` is used if the first has no timestamp."""
        stamped = None if is_wrong else self.frame_time(frame)
        time = max(self.now + self.step, first) if stamped is None else stamped
        if time <= self.now:
            time = self.now + self.step
        self.now = time
        return time

    def frame_time(self, frame: "VideoFrame") -> float | None:
        """Return the timestamp in the file as a time, with the same arithmetic as for packets.

        In AVI, a frame is shown when the packet is due after which the decoder returns it.
        """
        timestamp = frame.dts if self._is_avi else frame.pts
        return None if timestamp is None or self._tick is None else self.to_time(timestamp)

    def is_after_gap(self, frame: "VideoFrame") -> bool:
        """Return whether the frame comes after a gap, due to a variable rate or a wrong time."""
        time = self.frame_time(frame)
        return time is not None and self.now >= 0 and time > self.now + _GAP * self.step

    def is_before(self, frame: "VideoFrame", other: "VideoFrame") -> bool:
        time, other_time = self.frame_time(frame), self.frame_time(other)
        return time is not None and other_time is not None and time < other_time

    def packet_time(self, packet: "Packet[VideoStream]") -> float | None:
        timestamp = packet.dts if packet.pts is None else packet.pts
        return None if timestamp is None or self._tick is None else self.to_time(timestamp)

    def earliest_time(self, packet: "Packet[VideoStream]") -> float | None:
        """Return the earliest time at which this packet, or any stored after it, is shown."""
        timestamp = packet.dts
        if timestamp is None and not self._is_reordered:
            timestamp = packet.pts
        if timestamp is None or self._tick is None:
            return None
        return self.to_time(timestamp) + (self.early if packet.is_keyframe else 0.0)

    def frame_duration(self, packet: "Packet[VideoStream]", *, is_variable: bool) -> float:
        """Return how long the frame is shown; an estimate if rate and order vary."""
        if is_variable and self._is_reordered:
            return min(self.step, _USUAL_FRAME_S)
        ticks = packet.duration
        return ticks * self._numerator / self._denominator if ticks else self.step

    def to_timestamp(self, time: float) -> int:
        """Return the timestamp of a time; the inverse of `to_time`."""
        return int((time + self._origin) / self._tick) if self._tick else 0

    def to_ticks(self, seconds: float) -> int:
        return round(seconds / self._tick) if self._tick else 0

    def to_time(self, timestamp: int) -> float:
        # Exact, and faster than fractions.
        return timestamp * self._numerator / self._denominator - self._origin


def seek_keyframe(video: OpenVideo, start: float) -> float | None:
    """Seek to the last keyframe before `start`, or to an earlier one without an index.

    Return its time, or None for the beginning of the file.
    """
    clock = FrameClock(video)
    for back in _STEPS_BACK:
        if start - back <= 0:
            break
        if (keyframe := _seek_next_keyframe(video, clock, start - back)) <= start + _EPSILON:
            _seek(video, clock, start - back)
            return keyframe
    rewind(video.container)
    return None


def keyframe_before(video: OpenVideo, clock: FrameClock, time: float) -> float | None:
    """Return the keyframe time according to the index; None if the index may be incomplete."""
    entries = video.stream.index_entries
    is_whole = video.stream.frames == len(entries) or "matroska" in video.container.format.name
    if not len(entries) or not is_whole or clock.to_time(entries[-1].timestamp) < time:
        return None
    index = entries.search_timestamp(clock.to_timestamp(time))
    return clock.to_time(entries[index].timestamp) if index >= 0 else None


def _seek_next_keyframe(video: OpenVideo, clock: FrameClock, time: float) -> float:
    """Seek, and return the time of the next keyframe."""
    import av

    if not _seek(video, clock, time):
        return float("inf")
    try:
        for packet in islice(read_packets(video), 1000):
            if packet.is_keyframe and (found := clock.packet_time(packet)) is not None:
                return found
    except av.FFmpegError:
        pass
    return float("inf")


def _seek(video: OpenVideo, clock: FrameClock, time: float) -> bool:
    import av

    try:
        video.container.seek(clock.to_timestamp(time), stream=video.stream, backward=True)
    except av.FFmpegError:
        return False
    return True


class FrameCoverage:
    """Track from the packets how far the frames of a file reach, and whether any are missing.

    The last frame may be shown for long. So the end of a video is missing only if packets are, not
    if there is a gap between frames.
    """

    def __init__(self, video: OpenVideo, clock: FrameClock) -> None:
        self._stream = video.stream
        self._clock = clock
        self._is_mp4 = "mov" in video.container.format.name
        self._is_reordered = video.delay > 0
        self._stored: tuple[int, int] | None = None
        self._until = 0.0
        self.count = 0
        self.last_start = 0.0
        """Start time of the last frame."""

    def add(self, packet: "Packet[VideoStream]") -> None:
        """Add the next packet; damaged ones are ignored."""
        time = self._clock.packet_time(packet)
        if not packet.size or packet.is_corrupt or time is None:
            return
        if packet.dts is not None:
            self._stored = packet.dts, packet.dts + (packet.duration or 0)
        self.count += 1
        self.last_start = max(self.last_start, time)
        shown_for = self._clock.frame_duration(packet, is_variable=self._is_mp4)
        self._until = max(self._until, time + shown_for)

    @property
    def end(self) -> float:
        """End time of the last frame.

        For reordered frames, MP4 stores when the next one is decoded, which is the earliest time
        it can be shown. At the end of the track, that is adjusted by the decoding delay.
        """
        if not (self._is_mp4 and self._is_reordered and self._stored):
            return self._until
        last = self._stored[1]
        if self._is_complete:
            declared = (self._stream.start_time or 0) + (self._stream.duration or 0)
            last = min(last + self._early, declared)
        return max(self._until, self._clock.to_time(last))

    def is_missing(self, until: float, decoded: float) -> bool:
        """Return whether frames up to `until` are missing if the decoded ones end at `decoded`."""
        if until - decoded <= END_TOLERANCE_S:
            return False
        is_decoded = self.last_start < decoded + END_TOLERANCE_S
        return not (is_decoded and (self._is_complete or until - self.end <= END_TOLERANCE_S))

    @property
    def _is_complete(self) -> bool:
        """Whether the last packet read is the last one of a complete index."""
        entries = self._stream.index_entries
        if not self._is_mp4 or not len(entries) or self._stored is None:
            return False
        if self._stored[0] < entries[-1].timestamp:
            return False
        declared = (self._stream.duration or 0) + entries[0].timestamp
        # The index of a fragmented file only has the fragments read so far.
        return len(entries) <= self._stream.frames or 0 < declared <= self._stored[1]

    @property
    def _early(self) -> int:
        """Ticks between the decoding and the presentation of the first frame."""
        return (self._stream.start_time or 0) - self._stream.index_entries[0].timestamp


def last_frame_end(source: VideoSource, facts: VideoFacts) -> float:
    """Return when the last frame of an intact video ends, according to its packet."""
    return _find_last_frame(source, facts).end


def find_end(source: VideoSource, facts: VideoFacts, max_last_frame_s: float) -> float:
    """Return the end of the last frame if it is close to the duration in the headers, else that.

    The frames end earlier if a video was cut short or its sound is longer. The headers of a
    truncated AVI have no duration, and those of variable-rate videos are imprecise about the last
    frame. Headers are trusted up to `max_last_frame_s` seconds after the start of the last frame.
    """
    declared, last = facts.duration, _find_last_frame(source, facts)
    longest = _MAX_HELD_S if facts.is_variable else END_TOLERANCE_S
    if facts.container == "avi":  # AVI has packets for the whole duration
        longest = max(END_TOLERANCE_S, last.count / (facts.fps or 25))
    is_plausible = -END_TOLERANCE_S <= last.end - declared <= longest
    return min(last.end if is_plausible else declared, last.start + max_last_frame_s)


@dataclass(frozen=True)
class _LastFrame:
    """The frame shown last, and the number of packets read to find it."""

    start: float
    end: float
    count: int


def _find_last_frame(source: VideoSource, facts: VideoFacts) -> _LastFrame:
    import av

    with open_video(source) as video:
        coverage = FrameCoverage(video, FrameClock(video))
        seek_keyframe(video, facts.duration - END_TOLERANCE_S)
        with suppress(av.FFmpegError):  # decoding meets the same error and reports it
            for packet in read_packets(video):
                coverage.add(packet)
        return _LastFrame(coverage.last_start, coverage.end, coverage.count)
