"""Stream copy: make a clip of unchanged packets, from the keyframe before its start."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, cast

from curator_video.container import END_TOLERANCE_S, OpenVideo, error_text, open_video, read_packets
from curator_video.cutting.output_container import (
    avi_sound_encoder,
    choose_container,
    lost_aspect_ratio,
    open_output,
)
from curator_video.cutting.sound import (
    SoundHandling,
    SoundTrack,
    cut_with_sound,
    read_clip_sound,
)
from curator_video.decoding import DamagedVideoError
from curator_video.tasks import ClipSpan, EncodedClip
from curator_video.timeline import FrameClock, FrameCoverage, seek_keyframe

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    AnyPacket = Packet[VideoStream]

_EPSILON = 1e-4
_MAX_LEADING = 20
"""Packets. No more frames than this are stored after a keyframe but shown before it."""

_MAX_STEP = 1.1
"""A frame shown more than this many steps after another is not its successor."""


@dataclass
class _ClipPackets:
    """Packets of a clip in decoding order, and the times of their frames."""

    span: ClipSpan
    latest: float
    """The clip begins at the last keyframe up to this time."""

    end: float
    """Packets up to this time may hold frames of the clip."""

    packets: "list[AnyPacket]" = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    needed: int = 0
    has_frames_after: bool = False
    """Whether the video has frames after the clip."""

    held_until: float | None = None
    """End of the last frame if it is shown for long, as with variable frame rates."""

    damage: DamagedVideoError | None = None

    def add(self, packet: "AnyPacket", time: float) -> None:
        """Add the next packet if it belongs to the clip."""
        if packet.is_keyframe and time <= self.latest + _EPSILON:
            self._restart()  # closer to the clip than the seek position
        if packet.is_corrupt:
            self.note_damage(time, "damaged packets")
        if self.damage is not None and self._is_inside(time):
            raise self.damage  # the clip may depend on the damaged packet
        if self._belongs(packet, time):
            self._add(packet, time)

    def note_damage(self, time: float, reason: str) -> None:
        """Record damage. It is ignored if all frames of the clip are present."""
        self.damage = self.damage or _damage_error(self.span, time, reason)

    def finish(self, step: float) -> None:
        """Drop the packets after the last frame of the clip; raise if damage affects the clip."""
        del self.packets[self.needed :], self.times[self.needed :]
        if self.damage is not None and not self._is_gapless(step):
            raise self.damage

    def drop_leading(self, leading: int, step: float) -> None:
        """Remove the leading packets after the keyframe; the keyframe is shown in their place."""
        if leading:
            self.packets[: leading + 1] = [_first_frame_only(self.packets[0])]
            self.packets[0].pts = (self.packets[0].pts or 0) + leading
            self.times[: leading + 1] = [self.times[0] + leading * step]

    def timestamps(self, *, is_gapless: bool) -> list[int]:
        """Return the presentation times on the clock of the file.

        Reference frames may follow the end of the clip. If the clip can have no gap, they are
        placed directly after it.
        """
        found = [one.pts if one.pts is not None else one.dts or 0 for one in self.packets]
        if is_gapless:
            after_clip = [n for n, time in enumerate(self.times) if time >= self.end - _EPSILON]
            last = max(stamp for n, stamp in enumerate(found) if n not in after_clip)
            for count, index in enumerate(sorted(after_clip, key=found.__getitem__), start=1):
                found[index] = last + count
        return found

    def last_duration(self, newest: "AnyPacket", clock: FrameClock) -> float:
        """Return how long the last frame is shown."""
        is_variable, time = self.span.facts.is_variable, clock.packet_time(newest)
        if self.held_until is not None and time is not None and time < self.held_until:
            return self.held_until - time
        return clock.frame_duration(newest, is_variable=is_variable)

    def _is_inside(self, time: float) -> bool:
        return self.span.start - _EPSILON <= time < self.end - _EPSILON

    def _restart(self) -> None:
        self.packets.clear()
        self.times.clear()
        self.needed, self.damage = 0, None

    def _belongs(self, packet: "AnyPacket", time: float) -> bool:
        """Frames shown before the first keyframe depend on earlier packets and do not belong."""
        return time >= self.times[0] if self.times else packet.is_keyframe

    def _add(self, packet: "AnyPacket", time: float) -> None:
        self.packets.append(packet)
        self.times.append(time)
        if time < self.end - _EPSILON:
            self.needed = len(self.packets)

    def _is_gapless(self, step: float) -> bool:
        shown = sorted(time for time in self.times if time < self.end - _EPSILON)
        steps = pairwise([*shown, self.end])
        return bool(shown) and all(after - before < _MAX_STEP * step for before, after in steps)


def copy_clip(span: ClipSpan, keep_audio: bool) -> EncodedClip:
    """Return a clip that begins at a keyframe; its `start` and `end` are the actual span."""
    with open_video(span.source) as video:
        clock = FrameClock(video)
        clip_packets = _find_packets(video, clock, span)
        stamps = clip_packets.timestamps(is_gapless=video.is_avi)
        newest = clip_packets.packets[stamps.index(max(stamps))]
        last, length = clock.to_time(max(stamps)), clip_packets.last_duration(newest, clock)
        # MP4 stores the duration of the last packet decoded, Matroska that of the last frame
        # shown.
        newest.duration = clip_packets.packets[-1].duration = clock.to_ticks(length)
        start, end = clip_packets.times[0], last + length

        def write(handling: SoundHandling) -> EncodedClip:
            return _write_clip(video, span, clip_packets, stamps, (start, end), handling)

        return cut_with_sound(write) if keep_audio else write("none")


def _write_clip(
    video: OpenVideo,
    span: ClipSpan,
    clip_packets: _ClipPackets,
    stamps: list[int],
    edges: tuple[float, float],
    handling: SoundHandling,
) -> EncodedClip:
    audio, codec = span.facts.audio, span.facts.codec
    # AVI has no presentation times, so its packets can only be copied to another AVI.
    kind, encoder = choose_container(codec, span.facts, handling)
    if video.is_avi:
        kind, encoder = "avi", avi_sound_encoder(audio, handling)
    sound, changes = (None, ()) if handling == "none" else read_clip_sound(video, *edges, encoder)
    with open_output(kind) as output:
        track = _add_track(output.container, video)
        if span.facts.rotation:
            track.set_display_rotation(_signed(span.facts.rotation))
        audio_track = None if sound is None else SoundTrack(output.container, sound)
        _mux(output.container, track, clip_packets.packets, stamps, video.stream.time_base)
        if audio_track is not None:
            audio_track.write(edges[1])
    return EncodedClip(
        output.content,
        round(edges[0], 6),
        round(edges[1], 6),
        len(clip_packets.packets),
        codec,
        "copy",
        output.extension,
        None if sound is None else sound.codec,
        (
            *(changes if sound is None else sound.changes),
            *lost_aspect_ratio(kind, codec, span.facts),
        ),
    )


def _add_track(container: Any, video: OpenVideo) -> Any:
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
    delay = max(decoded - own for decoded, own in zip(ordered, shown, strict=True))
    for packet, own, decoded in zip(packets, shown, ordered, strict=True):
        packet.time_base = tick
        packet.pts, packet.dts = own - ordered[0], decoded - delay - ordered[0]
        packet.stream = track
        container.mux(packet)


def _find_packets(video: OpenVideo, clock: FrameClock, span: ClipSpan) -> _ClipPackets:
    """Return the packets of a clip, from a keyframe shown at its start or before."""
    clip_packets = _collect_packets(video, clock, span, span.start)
    while video.is_unordered:
        keyframe_time = clip_packets.times[0]
        clip_packets.drop_leading(
            _count_leading(video, clip_packets.packets[:_MAX_LEADING]), clock.step
        )
        if clip_packets.times[0] <= span.start + _EPSILON:
            break
        before = _collect_packets(video, clock, span, keyframe_time - clock.step)
        if before.times[0] >= keyframe_time:  # there is no earlier keyframe
            break
        clip_packets = before
    return clip_packets


def _count_leading(video: OpenVideo, head: "list[AnyPacket]") -> int:
    """Count the packets after a keyframe that are shown before it, which AVI does not record.

    Such frames also depend on packets before the keyframe: no player shows them.
    """
    import av

    known, shown = video.stream.codec_context, set[int | None]()
    context: Any = av.CodecContext.create(known.codec.name, "r")
    context.extradata, context.thread_count = known.extradata, 1
    for packet in (*head, None):
        with suppress(av.FFmpegError):
            shown |= {frame.pts for frame in context.decode(packet)}
    return len(list(takewhile(lambda packet: packet.pts not in shown, head[1:])))


def _first_frame_only(packet: "AnyPacket") -> "AnyPacket":
    """Return the first frame of an MPEG-4 packet; DivX packs two into one."""
    import av

    content, frame_start = bytes(packet), b"\0\0\1\xb6"
    second = content.find(frame_start, content.find(frame_start) + 1)
    if packet.stream.codec_context.name != "mpeg4" or second < 0:
        return packet
    single: Any = av.Packet(content[:second])
    single.pts, single.dts, single.time_base = packet.pts, packet.dts, packet.time_base
    single.duration, single.is_keyframe = packet.duration, packet.is_keyframe
    return cast("AnyPacket", single)


def _collect_packets(
    video: OpenVideo, clock: FrameClock, span: ClipSpan, latest: float
) -> _ClipPackets:
    import av

    seek_keyframe(video, latest)
    clip_packets, coverage = (
        _ClipPackets(span, latest, span.end + clock.early),
        FrameCoverage(video, clock),
    )
    try:
        for packet, time in _timed_packets(video, clock):
            coverage.add(packet)
            earliest = clock.earliest_time(packet)
            if earliest is not None and earliest >= span.end - _EPSILON:
                clip_packets.has_frames_after = True
                break
            clip_packets.has_frames_after |= time >= span.end - _EPSILON
            clip_packets.add(packet, time)
    except av.FFmpegError as error:
        clip_packets.note_damage(
            clip_packets.times[-1] if clip_packets.times else span.start, error_text(error)
        )
    clip_packets.finish(clock.step)
    if not clip_packets.packets or _ends_early(clip_packets, coverage, clock.step):
        raise _damage_error(
            span, max(clip_packets.times, default=span.start), "the frames end early"
        )
    return clip_packets


def _ends_early(clip_packets: _ClipPackets, coverage: FrameCoverage, step: float) -> bool:
    """Return whether frames are missing. A last frame may also be shown until the end."""
    shown, end = max(clip_packets.times) + step, clip_packets.span.end
    if clip_packets.has_frames_after and clip_packets.span.facts.may_hold_frames:
        clip_packets.held_until = end
    elif clip_packets.has_frames_after:
        return end - shown > END_TOLERANCE_S
    elif coverage.end > shown:
        clip_packets.held_until = min(end, coverage.end)
    return not clip_packets.has_frames_after and coverage.is_missing(end, shown)


def _timed_packets(video: OpenVideo, clock: FrameClock) -> "Iterator[tuple[AnyPacket, float]]":
    for packet in read_packets(video):
        time = clock.packet_time(packet)
        if time is not None and packet.size:
            yield packet, time


def _damage_error(span: ClipSpan, time: float, reason: str) -> DamagedVideoError:
    return DamagedVideoError(f"{span.source.path} is damaged at {time:.2f} s: {reason}")
