"""Facts about a video, probed from its headers and its first frame."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Self

from curator_video.container import (
    END_TOLERANCE_S,
    OpenVideo,
    UnreadableVideoError,
    first_frame_time,
    header_duration,
    open_video,
    read_packets,
    rewind,
)
from curator_video.source import VideoSource

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream


@dataclass(frozen=True)
class AudioFacts:
    """Facts about the first audio track."""

    codec: str
    sample_rate: int
    channels: int


UNSPECIFIED = 2
_HDR = {16: "PQ", 18: "HLG"}


@dataclass(frozen=True)
class ColorFacts:
    """Colour encoding, as ITU-T H.273 code points; 2 is unspecified."""

    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    matrix: int = UNSPECIFIED
    is_full_range: bool = False

    @property
    def hdr(self) -> str | None:
        """`PQ` or `HLG` for high dynamic range, else None."""
        return _HDR.get(self.transfer)


@dataclass(frozen=True)
class VideoFacts:
    """Facts about the video track and its file.

    `width` and `height` are those of the displayed frame: rotated by `rotation` degrees
    counterclockwise from the stored one. Clip times count from `start`, the timestamp of the first
    frame. `sample_aspect_ratio` is the width of a stored pixel to its height.
    """

    container: str
    codec: str
    width: int
    height: int
    fps: float
    duration: float
    frames: int | None = None
    rotation: int = 0
    is_variable: bool = False
    pixel_format: str = ""
    bit_depth: int = 8
    bit_rate: int = 0
    start: float = 0.0
    audio: AudioFacts | None = None
    sample_aspect_ratio: str = "1:1"
    color: ColorFacts = ColorFacts()
    is_interlaced: bool = False

    @property
    def may_hold_frames(self) -> bool:
        """Whether a frame may be shown for long. Matroska and WebM do not declare it."""
        return self.is_variable or "matroska" in self.container

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        audio, color = facts.get("audio"), facts.get("color", {})
        known = {"audio": None if audio is None else AudioFacts(**audio)}
        return cls(**{**facts, **known, "color": ColorFacts(**color)})


_PACKETS_READ = 60
"""Packets to read if there is no index. Each costs a read."""

_MAX_REORDERED = 16
"""Packets at the end whose neighbours may not have been read."""

_POSITIONS = 12
"""Positions to sample in a file without an index, to check that its times increase."""

_MAX_BACKWARD_S = 1.0
"""Seconds. Reordered frames go back in time by less than this."""

_MAX_FRAME_S = 60.0
"""Seconds per frame. Headers that claim a longer constant interval are wrong."""

_RATE_TOLERANCE = 1.5
"""Factor by which the frame rate may differ from the headers' before it counts as variable."""

_FULL_RANGE = 2
"""FFmpeg's number for full range; 1 is the broadcast range."""

_LATER_POSITIONS = 4
"""Positions to sample in Matroska, to find rates that only vary later."""

_PACKETS_PER_POSITION = 24
"""Packets to read after each of these positions."""

_BYTES_PER_POSITION = 1024 * 1024
"""Maximum number of bytes to read at each of these positions, if keyframes are rare."""

_PACKETS_TRIED = 100
"""Packets to decode before giving up on a video without frames."""


def probe(source: VideoSource) -> VideoFacts:
    """Return the facts; raise UnreadableVideoError if no frame can be decoded."""
    with open_video(source) as video:
        variable, frame = _is_variable(video), _first_frame(source, video)
        _refuse_joined(source, video)
        _refuse_slow(source, video, variable)
        return _make_facts(source, video, frame, variable)


def _refuse_joined(source: VideoSource, video: OpenVideo) -> None:
    """Raise if a transport stream was joined from several: one time would mean several frames.

    Compares two positions on either side, because a single one may be damaged.
    """
    stamps = list(_sampled_timestamps(video)) if video.container.format.name == "mpegts" else []
    for index in range(1, len(stamps)):
        before, after = min(stamps[max(0, index - 2) : index]), max(stamps[index : index + 2])
        if after < before - _MAX_BACKWARD_S:
            raise UnreadableVideoError(
                f"{source.path} was joined from several recordings: its times jump back from "
                f"{stamps[index - 1]:.1f} to {stamps[index]:.1f} s; "
                "`ffmpeg -i IN.ts -c copy OUT.mkv` repairs them"
            )


def _refuse_slow(source: VideoSource, video: OpenVideo, variable: bool) -> None:
    rate, frames = _frame_rate(video.stream), video.stream.frames or 0
    if not variable and frames > 2 and 0 < rate * _MAX_FRAME_S < 1:
        raise UnreadableVideoError(
            f"{source.path} claims that each frame is shown for {1 / rate:.0f} s: "
            "its headers are damaged"
        )


def _sampled_timestamps(video: OpenVideo) -> Iterator[float]:
    """Yield a packet time at each of several evenly spaced positions of the file."""
    import av

    container, size = video.container, video.container.size
    for position in range(_POSITIONS):
        try:
            container.seek(
                size * position // _POSITIONS, unsupported_byte_offset=True, any_frame=True
            )
        except av.FFmpegError:
            return
        for packet in islice(_intact_packets(video), _PACKETS_READ):
            if packet.pts is not None and packet.time_base is not None:
                yield float(packet.pts * packet.time_base)
                break


def _make_facts(
    source: VideoSource, video: OpenVideo, frame: "VideoFrame", variable: bool
) -> VideoFacts:
    stream = video.stream
    rotation = int(frame.rotation) % 360
    sides = (frame.width, frame.height)
    width, height = sides if rotation % 180 == 0 else sides[::-1]
    return VideoFacts(
        video.container.format.name,
        stream.codec_context.codec.canonical_name,
        width,
        height,
        round(_frame_rate(stream), 6),
        round(header_duration(video) or _measure_duration(video), 6),
        stream.frames or None,
        rotation,
        variable,
        frame.format.name,
        max(part.bits for part in frame.format.components),
        int(stream.codec_context.bit_rate or video.container.bit_rate or 0),
        round(first_frame_time(video), 6),
        _audio_facts(video.container),
        _aspect_ratio(stream),
        _color_facts(frame),
        frame.interlaced_frame,
    )


def _aspect_ratio(stream: "VideoStream") -> str:
    ratio = stream.sample_aspect_ratio or 1
    return f"{ratio.numerator}:{ratio.denominator}"


def _color_facts(frame: "VideoFrame") -> ColorFacts:
    is_full = int(frame.color_range) == _FULL_RANGE
    primaries, transfer = int(frame.color_primaries), int(frame.color_trc)
    return ColorFacts(primaries, transfer, int(frame.colorspace), is_full)


def _measure_duration(video: OpenVideo) -> float:
    """Measure the duration up to the last packet, for headers without one (browser recordings)."""
    first, step = first_frame_time(video), 1 / (_frame_rate(video.stream) or 25.0)
    last = first
    rewind(video.container)
    for packet in _intact_packets(video):
        if packet.pts is not None and packet.time_base is not None:
            last = max(last, float(packet.pts * packet.time_base))
    return last - first + step


def _intact_packets(video: OpenVideo) -> "Iterator[Packet[VideoStream]]":
    import av

    try:
        yield from read_packets(video)
    except av.FFmpegError:
        return  # decoding meets the same error and reports it


def _frame_rate(stream: "VideoStream") -> float:
    return float(stream.average_rate or stream.guessed_rate or stream.base_rate or 0)


def _first_frame(source: VideoSource, video: OpenVideo) -> "VideoFrame":
    """Decode one frame, to learn its properties and that the video has one."""
    rewind(video.container)
    context = video.stream.codec_context
    context.options = {"skip_loop_filter": "all"}  # only its properties are needed
    for packet in islice(_intact_packets(video), _PACKETS_TRIED):
        for frame in _decode(context, packet):
            return frame
    raise UnreadableVideoError(
        f"{source.path} has a video track, but none of its frames can be decoded"
    )


def _decode(context: "VideoCodecContext", packet: "Packet[VideoStream]") -> "Iterator[VideoFrame]":
    """Decode a packet; flush after a keyframe to get it at once."""
    import av

    try:
        yield from context.decode(packet)
        if packet.is_keyframe:
            yield from context.decode(None)
    except av.FFmpegError:
        pass  # the next packet may be intact
    if packet.is_keyframe:
        context.flush_buffers()


def _audio_facts(container: "InputContainer") -> AudioFacts | None:
    for stream in container.streams.audio:
        if stream.codec_context is not None:
            context = stream.codec_context
            name = context.codec.canonical_name
            return AudioFacts(name, context.sample_rate or 0, context.channels or 0)
    return None


def _is_variable(video: OpenVideo) -> bool:
    """Return whether frame durations differ by more than rounding.

    Also true if they differ from the declared rate, as in a slide show encoded at 25 per second.
    """
    rate = _frame_rate(video.stream)
    steps = [
        after - before
        for stamps in (_timestamps(video), *_later_timestamps(video))
        for before, after in pairwise(stamps)
        if after > before
    ]
    if not steps:
        return False
    share = min(steps) * rate * float(video.stream.time_base or 0)
    if share and not 1 / _RATE_TOLERANCE < share < _RATE_TOLERANCE:
        return True
    return max(steps) - min(steps) > max(1, 0.1 * min(steps)) + 1


def _timestamps(video: OpenVideo) -> list[int]:
    """Return sorted timestamps: all from a complete index, else those of the first packets."""
    entries = video.stream.index_entries
    if len(entries) > 1 and video.stream.frames == len(entries):
        return [*(entry.timestamp for entry in entries), *_held_last_frame(video)]
    stamps = sorted(_read_timestamps(video))
    return stamps[:-_MAX_REORDERED] if len(stamps) > 2 * _MAX_REORDERED else stamps


def _later_timestamps(video: OpenVideo) -> Iterator[list[int]]:
    """Yield sorted timestamps at several positions of a Matroska file, which has no full index."""
    import av

    container, tick = video.container, video.stream.time_base
    if "matroska" not in container.format.name or not container.duration or not tick:
        return
    for position in range(1, _LATER_POSITIONS + 1):
        time = container.duration / 1_000_000 * position / (_LATER_POSITIONS + 1)
        try:
            container.seek(int(time / tick), stream=video.stream)
        except av.FFmpegError:
            return
        stamps = sorted(_timestamps_around(video, int(time / tick)))
        yield stamps[: -video.delay or None]  # the neighbours of the last ones were not read


def _timestamps_around(video: OpenVideo, timestamp: int) -> Iterator[int]:
    """Read from the keyframe before to some packets after, up to a byte limit."""
    count, size = 0, 0
    for packet in _intact_packets(video):
        size += packet.size
        if packet.pts is not None:
            count += packet.pts >= timestamp
            yield packet.pts
        if count == _PACKETS_PER_POSITION or size > _BYTES_PER_POSITION:
            return


def _held_last_frame(video: OpenVideo) -> Iterator[int]:
    """Yield the end of the last frame if it is shown for long."""
    entries, length = video.stream.index_entries, video.stream.duration or 0
    first, last, end = entries[0].timestamp, entries[-1].timestamp, entries[0].timestamp + length
    longest = END_TOLERANCE_S / float(video.stream.time_base or 1)
    if longest < end - last - (last - first) / (len(entries) - 1):
        yield end


def _read_timestamps(video: OpenVideo) -> list[int]:
    first = islice(_intact_packets(video), _PACKETS_READ)
    return [packet.pts for packet in first if packet.pts is not None]
