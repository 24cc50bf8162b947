"""Selective decoding: sample pictures at a rate, skipping those that no sample depends on.

In each group of pictures after a keyframe, decoding stops at the last wanted picture and skips
pictures that no other one references. The result is bit for bit the same as with full decoding.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_video.analysis.observing import Grid
from curator_video.analysis.references import lonely
from curator_video.analysis.wants import Sampling
from curator_video.decoding import Clock, Damage, Shown, go_to
from curator_video.opening import Opened, packets, reason_of
from curator_video.reaching import Reach

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.video.stream import VideoStream

    AnyPacket = Packet[VideoStream]

_EPSILON = 1e-4


@dataclass(frozen=True)
class Unseen:
    """A picture is missing without an error: decoding it needs more than its own group."""

    time: float


def selected(
    video: Opened, samplings: AbstractSet[Sampling], start: float, end: float
) -> Iterator[Shown | Damage | Unseen]:
    """Yield the pictures of a span that any sampling asks for, up to the first unseen one."""
    clock = Clock(video)
    go_to(video, start)
    grids = [Grid(one.fps, start) for one in sorted(samplings)]
    last, before, reach = -1.0, list["tuple[float, AnyPacket]"](), Reach(video, clock)
    for group in _groups(video, clock, end, reach):
        stamps = sorted({time for time, _ in group if start - _EPSILON <= time < end - _EPSILON})
        wanted = {time for time in stamps if _is_hit(grids, time)}
        last = max([last, *stamps])
        if wanted:
            leads = min(wanted) < group[0][0]  # it also depends on pictures of the previous group
            for item in _decoded(video, [*before, *group] if leads else group, wanted, clock):
                yield item
                if isinstance(item, Unseen):
                    return
        before = group
    if reach.lacks(end, last + 2 * clock.step):
        yield Damage(max(last, start), end, "the pictures end early")


def _is_hit(grids: Sequence[Grid], time: float) -> bool:
    """Return whether any grid selects this time. Every grid must see every picture."""
    hits = [grid.hits(time) for grid in grids]
    return any(hits)


def _groups(
    video: Opened, clock: Clock, end: float, reach: Reach
) -> "Iterator[list[tuple[float, AnyPacket]]]":
    """Group packets by keyframe, each with its time."""
    group: list[tuple[float, AnyPacket]] = []
    for packet in _packets(video):
        reach.add(packet)
        time = clock.of_packet(packet)
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


def _packets(video: Opened) -> "Iterator[AnyPacket]":
    import av

    try:
        yield from packets(video)
    except av.FFmpegError:
        return  # the pictures end here; the caller detects the missing end


def _decoded(
    video: Opened,
    group: "Sequence[tuple[float, AnyPacket]]",
    wanted: AbstractSet[float],
    clock: Clock,
) -> Iterator[Shown | Damage | Unseen]:
    import av

    context = video.stream.codec_context
    last = max(place for place, (time, _) in enumerate(group) if time in wanted)
    can_go = lonely(video.stream, [packet for _, packet in group])
    missing, reason = set(wanted), ""
    try:
        for place, (time, packet) in enumerate(group[: last + 1]):
            if can_go[place] and time not in wanted:
                continue
            if packet.is_corrupt:
                reason = "damaged packets"
                break
            yield from _among(context.decode(packet), clock, missing)
        yield from _among(context.decode(None), clock, missing)
    except av.FFmpegError as error:
        reason = reason_of(error)
    finally:
        context.flush_buffers()
    if missing and reason:
        yield Damage(min(missing), max(missing) + clock.step, reason)
    elif missing:
        yield Unseen(min(missing))


def _among(
    frames: "Iterable[VideoFrame]", clock: Clock, missing: set[float]
) -> Iterator[Shown | Unseen]:
    for frame in frames:
        time = clock.of_frame(frame)
        if time in missing and not frame.is_corrupt:
            if time > min(missing):  # decoders return pictures in presentation order
                yield Unseen(min(missing))
                return
            missing.discard(time)
            yield Shown(time, frame)
