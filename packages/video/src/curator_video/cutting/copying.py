"""Stream copy: make a clip of unchanged packets, from the keyframe before its start."""

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
"""Packets. No more pictures than this are stored after a keyframe but shown before it."""
_NEXT = 1.1
"""A picture shown more than this many steps after another is not the next one."""


@dataclass
class _Run:
    """Packets of a clip in decoding order, and the times of their pictures."""

    span: Span
    latest: float
    """The clip begins at the last keyframe up to this time."""

    end: float
    """Packets up to this time may hold pictures of the clip."""

    packets: "list[AnyPacket]" = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    needed: int = 0
    goes_on: bool = False
    """Whether the video has pictures after the clip."""

    held_until: float | None = None
    """End of the last picture if it is shown for long, as with variable frame rates."""

    damage: DamagedVideoError | None = None

    def take(self, packet: "AnyPacket", time: float) -> None:
        """Add the next packet if it belongs to the clip."""
        if packet.is_keyframe and time <= self.latest + _EPSILON:
            self._begin()  # closer to the clip than the seek position
        if packet.is_corrupt:
            self.break_at(time, "damaged packets")
        if self.damage is not None and self._is_inside(time):
            raise self.damage  # the clip may depend on the damaged packet
        if self._belongs(packet, time):
            self._add(packet, time)

    def break_at(self, time: float, reason: str) -> None:
        """Note damage. It is ignored if all pictures of the clip are present."""
        self.damage = self.damage or _damaged(self.span, time, reason)

    def close(self, step: float) -> None:
        """Drop the packets after the last wanted picture; raise if damage affects the clip."""
        del self.packets[self.needed :], self.times[self.needed :]
        if self.damage is not None and not self._is_gapless(step):
            raise self.damage

    def leave_out(self, leading: int, step: float) -> None:
        """Remove the leading packets after the keyframe; the keyframe is shown in their place."""
        if leading:
            self.packets[: leading + 1] = [_alone(self.packets[0])]
            self.packets[0].pts = (self.packets[0].pts or 0) + leading
            self.times[: leading + 1] = [self.times[0] + leading * step]

    def stamps(self, *, is_gapless: bool) -> list[int]:
        """Return the presentation times on the clock of the file.

        Reference pictures may follow the end of the clip. If the clip can have no gap, they are
        placed directly after it.
        """
        found = [one.pts if one.pts is not None else one.dts or 0 for one in self.packets]
        if is_gapless:
            behind = [n for n, time in enumerate(self.times) if time >= self.end - _EPSILON]
            last = max(stamp for n, stamp in enumerate(found) if n not in behind)
            for count, place in enumerate(sorted(behind, key=found.__getitem__), start=1):
                found[place] = last + count
        return found

    def length_of(self, newest: "AnyPacket", clock: Clock) -> float:
        """Return how long the last picture is shown."""
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
        """Pictures shown before the first keyframe depend on earlier packets and do not belong."""
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
    """Return a clip that begins at a keyframe; its `start` and `end` are the actual span."""
    with opened(span.source) as video:
        clock = Clock(video)
        run = _shown_of(video, clock, span)
        stamps = run.stamps(is_gapless=video.is_avi)
        newest = run.packets[stamps.index(max(stamps))]
        last, length = clock.at(max(stamps)), run.length_of(newest, clock)
        # MP4 stores the duration of the last packet decoded, Matroska that of the last picture
        # shown.
        newest.duration = run.packets[-1].duration = clock.ticks(length)
        start, end = run.times[0], last + length

        def made(way: Way) -> Encoded:
            return _written(video, span, run, stamps, (start, end), way)

        return with_sound(made) if keep_audio else made("none")


def _written(
    video: Opened, span: Span, run: _Run, stamps: list[int], edges: tuple[float, float], way: Way
) -> Encoded:
    audio, codec = span.facts.audio, span.facts.codec
    # AVI has no presentation times, so its packets can only be copied to another AVI.
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
    """Add a track like that of the video; its decoder may have no matching encoder."""
    is_opaque = not _is_encoder(video.stream.codec_context.codec.name)
    track: Any = container.add_stream_from_template(video.stream, opaque=is_opaque)
    if ratio := video.stream.sample_aspect_ratio:  # may be set by the container
        track.codec_context.sample_aspect_ratio = ratio
    return track


@cache
def _is_encoder(name: str) -> bool:
    import av

    try:
        return bool(av.Codec(name, "w").is_encoder)
    except ValueError:  # also the base class of av's own error
        return False


def _signed(rotation: int) -> int:
    return rotation - 360 if rotation > 180 else rotation


def _mux(
    container: Any, track: Any, packets: "list[AnyPacket]", shown: list[int], tick: Any
) -> None:
    """Mux packets with new decoding times; those of the source may not fit the container."""
    ordered = sorted(shown)
    delay = max(early - own for early, own in zip(ordered, shown, strict=True))
    for packet, own, early in zip(packets, shown, ordered, strict=True):
        packet.time_base = tick
        packet.pts, packet.dts = own - ordered[0], early - delay - ordered[0]
        packet.stream = track
        container.mux(packet)


def _shown_of(video: Opened, clock: Clock, span: Span) -> _Run:
    """Return the packets of a clip, from a keyframe shown at its start or before."""
    run = _packets_of(video, clock, span, span.start)
    while video.is_unordered:
        stored = run.times[0]
        run.leave_out(_leading(video, run.packets[:_HEAD]), clock.step)
        if run.times[0] <= span.start + _EPSILON:
            break
        before = _packets_of(video, clock, span, stored - clock.step)
        if before.times[0] >= stored:  # there is no earlier keyframe
            break
        run = before
    return run


def _leading(video: Opened, head: "list[AnyPacket]") -> int:
    """Count the packets after a keyframe that are shown before it, which AVI does not record.

    Such pictures also depend on packets before the keyframe: no player shows them.
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
    """Return the first picture of an MPEG-4 packet; DivX packs two into one."""
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
    """Return whether pictures are missing. A last picture may also be shown until the end."""
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
