"""Copying: a clip made of the packets as they are, from the keyframe before its start."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, cast

from curator_video.clips import Encoded, Span
from curator_video.cutting.files import drafted, encoder_for_avi, kind_for, lost_shape
from curator_video.cutting.sound import SoundTrack, Way, hear, with_sound
from curator_video.decoding import Clock, DamagedVideoError, go_to
from curator_video.opening import Opened, opened, packets, reason_of
from curator_video.reaching import TOLERATED, Reach

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    AnyPacket = Packet[VideoStream]

_EPSILON = 1e-4
_HEAD = 20
"""Packets. More pictures than fit in are never stored behind a keyframe and shown before it."""
_NEXT = 1.1
"""A picture that is shown more steps after another is not the next one."""


@dataclass
class _Run:
    """Packets that make a clip, in the order of decoding, and the times of their pictures."""

    span: Span
    latest: float
    """The last keyframe up to here begins the clip."""

    end: float
    """Pictures of the clip may be among the packets up to here."""

    packets: "list[AnyPacket]" = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    needed: int = 0
    goes_on: bool = False
    """Whether there are pictures behind the clip."""

    held_until: float | None = None
    """When its last picture ceases to be shown, if that is for long, as in a variable rate."""

    damage: DamagedVideoError | None = None

    def take(self, packet: "AnyPacket", time: float) -> None:
        """The next packet, where it belongs to the clip."""
        if packet.is_keyframe and time <= self.latest + _EPSILON:
            self._begin()  # nearer to the clip than where the file was entered
        if packet.is_corrupt:
            self.break_at(time, "damaged packets")
        if self.damage is not None and self._is_inside(time):
            raise self.damage  # which it may be made of
        if self._belongs(packet, time):
            self._add(packet, time)

    def break_at(self, time: float, reason: str) -> None:
        """Damage, which is none of the clip's if all pictures of that are there."""
        self.damage = self.damage or _damaged(self.span, time, reason)

    def close(self, step: float) -> None:
        """What comes behind the last picture that is wanted is wanted by none."""
        del self.packets[self.needed :], self.times[self.needed :]
        if self.damage is not None and not self._is_gapless(step):
            raise self.damage

    def leave_out(self, leading: int, step: float) -> None:
        """Takes packets behind the keyframe away, in whose place that is shown."""
        if leading:
            self.packets[: leading + 1] = [_alone(self.packets[0])]
            self.packets[0].pts = (self.packets[0].pts or 0) + leading
            self.times[: leading + 1] = [self.times[0] + leading * step]

    def stamps(self, *, is_gapless: bool) -> list[int]:
        """When the pictures are shown, on the clock of the file.

        Behind the end are such as others are made of. Where the clip can have no gap, they follow.
        """
        found = [one.pts if one.pts is not None else one.dts or 0 for one in self.packets]
        if is_gapless:
            behind = [n for n, time in enumerate(self.times) if time >= self.end - _EPSILON]
            last = max(stamp for n, stamp in enumerate(found) if n not in behind)
            for count, place in enumerate(sorted(behind, key=found.__getitem__), start=1):
                found[place] = last + count
        return found

    def length_of(self, newest: "AnyPacket", clock: Clock) -> float:
        """How long the picture is shown that is shown last."""
        is_variable, time = self.span.facts.is_variable, clock.of_packet(newest)
        if self.held_until is not None and time is not None and time < self.held_until:
            return self.held_until - time
        return clock.length(newest, is_variable=is_variable)

    def _is_inside(self, time: float) -> bool:
        return self.span.start - _EPSILON <= time < self.end - _EPSILON

    def _begin(self) -> None:
        self.packets.clear()
        self.times.clear()
        self.needed, self.damage = 0, None

    def _belongs(self, packet: "AnyPacket", time: float) -> bool:
        """What is shown before the first keyframe is made of what lies before it."""
        return time >= self.times[0] if self.times else packet.is_keyframe

    def _add(self, packet: "AnyPacket", time: float) -> None:
        self.packets.append(packet)
        self.times.append(time)
        if time < self.end - _EPSILON:
            self.needed = len(self.packets)

    def _is_gapless(self, step: float) -> bool:
        shown = sorted(time for time in self.times if time < self.end - _EPSILON)
        steps = pairwise([*shown, self.end])
        return bool(shown) and all(after - before < _NEXT * step for before, after in steps)


def copied(span: Span, keep_audio: bool) -> Encoded:
    """A clip that begins at a keyframe; the result's `start` and `end` are what is really in it."""
    with opened(span.source) as video:
        clock = Clock(video)
        run = _shown_of(video, clock, span)
        stamps = run.stamps(is_gapless=video.is_avi)
        newest = run.packets[stamps.index(max(stamps))]
        last, length = clock.at(max(stamps)), run.length_of(newest, clock)
        # MP4 knows how long the last one is decoded, Matroska how long the newest is shown.
        newest.duration = run.packets[-1].duration = clock.ticks(length)
        start, end = run.times[0], last + length

        def made(way: Way) -> Encoded:
            return _written(video, span, run, stamps, (start, end), way)

        return with_sound(made) if keep_audio else made("none")


def _written(
    video: Opened, span: Span, run: _Run, stamps: list[int], edges: tuple[float, float], way: Way
) -> Encoded:
    audio, codec = span.facts.audio, span.facts.codec
    # AVI does not know when a picture is shown, so its packets can only go to another AVI.
    kind, encoder = kind_for(codec, span.facts, way)
    if video.is_avi:
        kind, encoder = "avi", encoder_for_avi(audio, way)
    heard, changes = (None, ()) if way == "none" else hear(video, *edges, encoder)
    with drafted(kind) as draft:
        track = _track(draft.container, video)
        if span.facts.rotation:
            track.set_display_rotation(_signed(span.facts.rotation))
        sound = None if heard is None else SoundTrack(draft.container, heard)
        _mux(draft.container, track, run.packets, stamps, video.stream.time_base)
        if sound is not None:
            sound.write(edges[1])
    return Encoded(
        draft.content,
        round(edges[0], 6),
        round(edges[1], 6),
        len(run.packets),
        codec,
        "copy",
        draft.extension,
        None if heard is None else heard.codec,
        (*(changes if heard is None else heard.changes), *lost_shape(kind, codec, span.facts)),
    )


def _track(container: Any, video: Opened) -> Any:
    """A track like that of the video; what decodes it may be nothing that encodes."""
    is_opaque = not _is_encoder(video.stream.codec_context.codec.name)
    track: Any = container.add_stream_from_template(video.stream, opaque=is_opaque)
    if ratio := video.stream.sample_aspect_ratio:  # which may be the container's own
        track.codec_context.sample_aspect_ratio = ratio
    return track


@cache
def _is_encoder(name: str) -> bool:
    import av

    try:
        return bool(av.Codec(name, "w").is_encoder)
    except ValueError:  # which is what av's own error is, too
        return False


def _signed(rotation: int) -> int:
    return rotation - 360 if rotation > 180 else rotation


def _mux(
    container: Any, track: Any, packets: "list[AnyPacket]", shown: list[int], tick: Any
) -> None:
    """Times of decoding are made anew: not every file has such as another one would take."""
    ordered = sorted(shown)
    delay = max(early - own for early, own in zip(ordered, shown, strict=True))
    for packet, own, early in zip(packets, shown, ordered, strict=True):
        packet.time_base = tick
        packet.pts, packet.dts = own - ordered[0], early - delay - ordered[0]
        packet.stream = track
        container.mux(packet)


def _shown_of(video: Opened, clock: Clock, span: Span) -> _Run:
    """Packets of a clip, from a keyframe that is shown when it begins, or before."""
    run = _packets_of(video, clock, span, span.start)
    while video.is_unordered:
        stored = run.times[0]
        run.leave_out(_leading(video, run.packets[:_HEAD]), clock.step)
        if run.times[0] <= span.start + _EPSILON:
            break
        before = _packets_of(video, clock, span, stored - clock.step)
        if before.times[0] >= stored:  # there is none
            break
        run = before
    return run


def _leading(video: Opened, head: "list[AnyPacket]") -> int:
    """How many packets behind a keyframe hold what is shown before it, of which AVI tells nothing.

    Such pictures are made of what lies before the keyframe, too: no player shows them.
    """
    import av

    known, shown = video.stream.codec_context, set[int | None]()
    context: Any = av.CodecContext.create(known.codec.name, "r")
    context.extradata, context.thread_count = known.extradata, 1
    for packet in (*head, None):
        with suppress(av.FFmpegError):
            shown |= {frame.pts for frame in context.decode(packet)}
    return len(list(takewhile(lambda packet: packet.pts not in shown, head[1:])))


def _alone(packet: "AnyPacket") -> "AnyPacket":
    """The first picture of a packet of MPEG-4, in which DivX puts two."""
    import av

    content, begins = bytes(packet), b"\0\0\1\xb6"
    second = content.find(begins, content.find(begins) + 1)
    if packet.stream.codec_context.name != "mpeg4" or second < 0:
        return packet
    alone: Any = av.Packet(content[:second])
    alone.pts, alone.dts, alone.time_base = packet.pts, packet.dts, packet.time_base
    alone.duration, alone.is_keyframe = packet.duration, packet.is_keyframe
    return cast("AnyPacket", alone)


def _packets_of(video: Opened, clock: Clock, span: Span, latest: float) -> _Run:
    import av

    go_to(video, latest)
    run, reach = _Run(span, latest, span.end + clock.early), Reach(video, clock)
    try:
        for packet, time in _timed(video, clock):
            reach.add(packet)
            earliest = clock.earliest(packet)
            if earliest is not None and earliest >= span.end - _EPSILON:
                run.goes_on = True
                break
            run.goes_on |= time >= span.end - _EPSILON
            run.take(packet, time)
    except av.FFmpegError as error:
        run.break_at(run.times[-1] if run.times else span.start, reason_of(error))
    run.close(clock.step)
    if not run.packets or _ends_early(run, reach, clock.step):
        raise _damaged(span, max(run.times, default=span.start), "the pictures end early")
    return run


def _ends_early(run: _Run, reach: Reach, step: float) -> bool:
    """Whether pictures are missing, rather than that the last one is shown until the end."""
    shown, end = max(run.times) + step, run.span.end
    if run.goes_on and run.span.facts.may_hold_pictures:
        run.held_until = end
    elif run.goes_on:
        return end - shown > TOLERATED
    elif reach.end > shown:
        run.held_until = min(end, reach.end)
    return not run.goes_on and reach.lacks(end, shown)


def _timed(video: Opened, clock: Clock) -> "Iterator[tuple[AnyPacket, float]]":
    for packet in packets(video):
        time = clock.of_packet(packet)
        if time is not None and packet.size:
            yield packet, time


def _damaged(span: Span, time: float, reason: str) -> DamagedVideoError:
    return DamagedVideoError(f"{span.source.path} is damaged at {time:.2f} s: {reason}")
