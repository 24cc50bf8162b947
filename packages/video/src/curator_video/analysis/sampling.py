"""Sampling: decode frames at a rate and skip those that no sample depends on.

In each group of frames after a keyframe, decoding stops at the last frame needed and skips frames
that no other one references. The result is bit for bit the same as with full decoding.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_video.analysis.disposable_frames import find_disposable
from curator_video.container import OpenVideo, error_text, read_packets
from curator_video.decoding import DamagedSpan, TimedFrame
from curator_video.timeline import FrameClock, FrameCoverage, seek_keyframe

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

    AnyPacket = Packet[VideoStream]

_GRID_EPSILON = 1e-3

_EPSILON = 1e-4


@dataclass(frozen=True, order=True)
class Sampling:
    """Frames sampled at `fps`, scaled down to `height` if higher; 0 keeps the original size.

    A sample is the first frame at or after each sampling time. Sampling times count from the
    beginning of the video, so all clips of a video and all stages select the same frames.
    """

    fps: float
    height: int = 0


class SamplingGrid:
    """Select the first frame at or after each sampling time of a rate."""

    def __init__(self, fps: float, start: float) -> None:
        self._fps = fps
        self._last = math.ceil(start * fps - _GRID_EPSILON) - 1

    @property
    def next_time(self) -> float:
        """The next sampling time."""
        return (self._last + 1) / self._fps

    def selects(self, time: float) -> bool:
        point = math.floor(time * self._fps + _GRID_EPSILON)
        is_new = point > self._last
        self._last = max(point, self._last)
        return is_new


@dataclass(frozen=True)
class MissingFrame:
    """A frame that could not be decoded from its own group of pictures; not an error."""

    time: float


def decode_samples(
    video: OpenVideo, samplings: AbstractSet[Sampling], start: float, end: float
) -> Iterator[TimedFrame | DamagedSpan | MissingFrame]:
    """Yield the frames of a span that any sampling selects, up to the first missing one."""
    clock = FrameClock(video)
    seek_keyframe(video, start)
    grids = [SamplingGrid(one.fps, start) for one in sorted(samplings)]
    last, before, coverage = -1.0, list["tuple[float, AnyPacket]"](), FrameCoverage(video, clock)
    for group in _groups(video, clock, end, coverage):
        stamps = sorted({time for time, _ in group if start - _EPSILON <= time < end - _EPSILON})
        sampled = {time for time in stamps if _is_sampled(grids, time)}
        last = max([last, *stamps])
        if sampled:
            depends_on_previous = min(sampled) < group[0][0]
            needed = [*before, *group] if depends_on_previous else group
            for item in _decode_group(video, needed, sampled, clock):
                yield item
                if isinstance(item, MissingFrame):
                    return
        before = group
    if coverage.is_missing(end, last + 2 * clock.step):
        yield DamagedSpan(max(last, start), end, "the frames end early")


def _is_sampled(grids: Sequence[SamplingGrid], time: float) -> bool:
    """Return whether any grid selects this time. Every grid must see every frame."""
    selected = [grid.selects(time) for grid in grids]
    return any(selected)


def _groups(
    video: OpenVideo, clock: FrameClock, end: float, coverage: FrameCoverage
) -> "Iterator[list[tuple[float, AnyPacket]]]":
    """Group packets by keyframe, each with its time."""
    group: list[tuple[float, AnyPacket]] = []
    for packet in _intact_packets(video):
        coverage.add(packet)
        time = clock.packet_time(packet)
        if time is None or not packet.size:
            continue
        if packet.is_keyframe and group:
            yield group
            group = []
            if time > end:
                return
        group.append((time, packet))
    if group:
        yield group


def _intact_packets(video: OpenVideo) -> "Iterator[AnyPacket]":
    import av

    try:
        yield from read_packets(video)
    except av.FFmpegError:
        return  # the frames end here; the caller detects the missing end


def _decode_group(
    video: OpenVideo,
    group: "Sequence[tuple[float, AnyPacket]]",
    times: AbstractSet[float],
    clock: FrameClock,
) -> Iterator[TimedFrame | DamagedSpan | MissingFrame]:
    import av

    context = video.stream.codec_context
    last = max(index for index, (time, _) in enumerate(group) if time in times)
    is_disposable = find_disposable(video.stream, [packet for _, packet in group])
    missing, reason = set(times), ""
    try:
        for index, (time, packet) in enumerate(group[: last + 1]):
            if is_disposable[index] and time not in times:
                continue
            if packet.is_corrupt:
                reason = "damaged packets"
                break
            yield from _select(context.decode(packet), clock, missing)
        yield from _select(context.decode(None), clock, missing)
    except av.FFmpegError as error:
        reason = error_text(error)
    finally:
        context.flush_buffers()
    if missing and reason:
        yield DamagedSpan(min(missing), max(missing) + clock.step, reason)
    elif missing:
        yield MissingFrame(min(missing))


def _select(
    frames: "Iterable[VideoFrame]", clock: FrameClock, missing: set[float]
) -> Iterator[TimedFrame | MissingFrame]:
    for frame in frames:
        time = clock.frame_time(frame)
        if time in missing and not frame.is_corrupt:
            if time > min(missing):  # decoders return frames in presentation order
                yield MissingFrame(min(missing))
                return
            missing.discard(time)
            yield TimedFrame(time, frame)
