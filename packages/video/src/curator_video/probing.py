"""Probing: find out the facts about a video from its headers and its first picture."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from curator_video.facts import AudioFacts, ColorFacts, VideoFacts
from curator_video.opening import Opened, UnreadableVideoError, opened, packets, rewind
from curator_video.reaching import TOLERATED
from curator_video.sources import VideoSource

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream

_READ = 60
"""Packets to read if there is no index. Each costs a read."""

_REORDERED = 16
"""Packets: this many at the end may have neighbours that were not read."""

_PLACES = 12
"""Positions to sample in a file without an index, to check that its times increase."""

_SET_BACK = 1.0
"""Seconds. Reordered pictures go back in time by less than this."""

_SLOWEST = 60.0
"""Seconds per picture. Headers that claim a longer constant interval are wrong."""

_OTHER = 1.5
"""Factor by which the picture rate may differ from the headers' before it counts as variable."""

_FULL_RANGE = 2
"""FFmpeg's number for full range; 1 is the broadcast range."""

_LATER = 4
"""Positions to sample in Matroska, to find rates that only vary later."""

_READ_LATER = 24
"""Packets to read after each of these positions."""

_CHEAP = 1024 * 1024
"""Bytes to read at each of these positions at most, if keyframes are rare."""

_TRIED = 100
"""Packets to decode before a video counts as having no pictures."""


def probe(source: VideoSource) -> VideoFacts:
    """Return the facts; raise UnreadableVideoError if no picture can be decoded."""
    with opened(source) as video:
        variable, picture = _is_variable(video), _first_picture(source, video)
        _refuse_joined(source, video)
        _refuse_slow(source, video, variable)
        return _facts(source, video, picture, variable)


def _refuse_joined(source: VideoSource, video: Opened) -> None:
    """Raise if a transport stream was joined of several: one time would mean several pictures.

    Compares two positions on either side, because a single one may be damaged.
    """
    stamps = list(_stamps_along(video)) if video.container.format.name == "mpegts" else []
    for place in range(1, len(stamps)):
        before, after = min(stamps[max(0, place - 2) : place]), max(stamps[place : place + 2])
        if after < before - _SET_BACK:
            raise UnreadableVideoError(
                f"{source.path} was joined of several recordings: its times go back from "
                f"{stamps[place - 1]:.1f} to {stamps[place]:.1f} s; let "
                "`ffmpeg -i IN.ts -c copy OUT.mkv` count anew"
            )


def _refuse_slow(source: VideoSource, video: Opened, variable: bool) -> None:
    rate, frames = _rate(video.stream), video.stream.frames or 0
    if not variable and frames > 2 and 0 < rate * _SLOWEST < 1:
        raise UnreadableVideoError(
            f"{source.path} claims that each picture is shown for {1 / rate:.0f} s: "
            "its headers are damaged"
        )


def _stamps_along(video: Opened) -> Iterator[float]:
    """Yield a packet time at each of several evenly spaced positions of the file."""
    import av

    container, size = video.container, video.container.size
    for place in range(_PLACES):
        try:
            container.seek(size * place // _PLACES, unsupported_byte_offset=True, any_frame=True)
        except av.FFmpegError:
            return
        for packet in islice(_packets(video), _READ):
            if packet.pts is not None and packet.time_base is not None:
                yield float(packet.pts * packet.time_base)
                break


def _facts(source: VideoSource, video: Opened, picture: "VideoFrame", variable: bool) -> VideoFacts:
    stream = video.stream
    rotation = int(picture.rotation) % 360
    sides = (picture.width, picture.height)
    width, height = sides if rotation % 180 == 0 else sides[::-1]
    return VideoFacts(
        video.container.format.name,
        stream.codec_context.codec.canonical_name,
        width,
        height,
        round(_rate(stream), 6),
        round(duration_of(video) or _read_duration(video), 6),
        stream.frames or None,
        rotation,
        variable,
        picture.format.name,
        max(part.bits for part in picture.format.components),
        int(stream.codec_context.bit_rate or video.container.bit_rate or 0),
        round(origin_of(video), 6),
        _audio(video.container),
        _aspect_ratio(stream),
        _color(picture),
        picture.interlaced_frame,
    )


def _aspect_ratio(stream: "VideoStream") -> str:
    ratio = stream.sample_aspect_ratio or 1
    return f"{ratio.numerator}:{ratio.denominator}"


def _color(picture: "VideoFrame") -> ColorFacts:
    is_full = int(picture.color_range) == _FULL_RANGE
    primaries, transfer = int(picture.color_primaries), int(picture.color_trc)
    return ColorFacts(primaries, transfer, int(picture.colorspace), is_full)


def origin_of(video: Opened) -> float:
    """Return when the first picture is shown, on the clock of the file."""
    start, tick = video.stream.start_time or 0, video.stream.time_base
    if video.is_avi:  # its start time is that of the first packet
        start += video.delay
    return float(start * tick) if tick else 0.0


def duration_of(video: Opened) -> float:
    """Return the duration in the headers: of the track if known, else of the file."""
    stream = video.stream
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    if (told := stream.metadata.get("DURATION")) and (seconds := _seconds(told)):
        return seconds - origin_of(video)
    return float((video.container.duration or 0) / 1_000_000)


def _read_duration(video: Opened) -> float:
    """Measure the duration up to the last packet, for headers without one (browser recordings)."""
    first, step = origin_of(video), 1 / (_rate(video.stream) or 25.0)
    last = first
    rewind(video.container)
    for packet in _packets(video):
        if packet.pts is not None and packet.time_base is not None:
            last = max(last, float(packet.pts * packet.time_base))
    return last - first + step


def _packets(video: Opened) -> "Iterator[Packet[VideoStream]]":
    import av

    try:
        yield from packets(video)
    except av.FFmpegError:
        return  # decoding meets the same error and reports it


def _seconds(clock: str) -> float:
    """Parse a Matroska track duration, such as 00:01:02.500000000."""
    try:
        hours, minutes, seconds = clock.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        return 0.0


def _rate(stream: "VideoStream") -> float:
    return float(stream.average_rate or stream.guessed_rate or stream.base_rate or 0)


def _first_picture(source: VideoSource, video: Opened) -> "VideoFrame":
    """Decode one picture, to learn its rotation and that there is one."""
    rewind(video.container)
    context = video.stream.codec_context
    context.options = {"skip_loop_filter": "all"}  # the picture is not looked at
    for packet in islice(_packets(video), _TRIED):
        for picture in _pictures(context, packet):
            return picture
    raise UnreadableVideoError(
        f"{source.path} has a video track, but no picture of it can be decoded"
    )


def _pictures(
    context: "VideoCodecContext", packet: "Packet[VideoStream]"
) -> "Iterator[VideoFrame]":
    """Decode a packet; flush after a keyframe, so that it comes out at once."""
    import av

    try:
        yield from context.decode(packet)
        if packet.is_keyframe:
            yield from context.decode(None)
    except av.FFmpegError:
        pass  # the next packet may be intact
    if packet.is_keyframe:
        context.flush_buffers()


def _audio(container: "InputContainer") -> AudioFacts | None:
    for stream in container.streams.audio:
        if stream.codec_context is not None:
            context = stream.codec_context
            name = context.codec.canonical_name
            return AudioFacts(name, context.sample_rate or 0, context.channels or 0)
    return None


def _is_variable(video: Opened) -> bool:
    """Return whether picture durations differ by more than rounding.

    Also true if they differ from the declared rate, as in a slide show encoded at 25 per second.
    """
    rate = _rate(video.stream)
    steps = [
        after - before
        for stamps in (_stamps(video), *_later_stamps(video))
        for before, after in pairwise(stamps)
        if after > before
    ]
    if not steps:
        return False
    share = min(steps) * rate * float(video.stream.time_base or 0)
    if share and not 1 / _OTHER < share < _OTHER:
        return True
    return max(steps) - min(steps) > max(1, 0.1 * min(steps)) + 1


def _stamps(video: Opened) -> list[int]:
    """Return sorted timestamps: all from a complete index, else those of the first packets."""
    entries = video.stream.index_entries
    if len(entries) > 1 and video.stream.frames == len(entries):
        return [*(entry.timestamp for entry in entries), *_held_until(video)]
    stamps = sorted(_read_stamps(video))
    return stamps[:-_REORDERED] if len(stamps) > 2 * _REORDERED else stamps


def _later_stamps(video: Opened) -> Iterator[list[int]]:
    """Yield sorted timestamps at several positions of a Matroska file, which has no full index."""
    import av

    container, tick = video.container, video.stream.time_base
    if "matroska" not in container.format.name or not container.duration or not tick:
        return
    for place in range(1, _LATER + 1):
        time = container.duration / 1_000_000 * place / (_LATER + 1)
        try:
            container.seek(int(time / tick), stream=video.stream)
        except av.FFmpegError:
            return
        stamps = sorted(_stamps_around(video, int(time / tick)))
        yield stamps[: -video.delay or None]  # the neighbours of the last ones were not read


def _stamps_around(video: Opened, wanted: int) -> Iterator[int]:
    """Read from the keyframe before to some packets after, up to a byte limit."""
    count, size = 0, 0
    for packet in _packets(video):
        size += packet.size
        if packet.pts is not None:
            count += packet.pts >= wanted
            yield packet.pts
        if count == _READ_LATER or size > _CHEAP:
            return


def _held_until(video: Opened) -> Iterator[int]:
    """Yield the end of the last picture if it is held for long."""
    entries, length = video.stream.index_entries, video.stream.duration or 0
    first, last, end = entries[0].timestamp, entries[-1].timestamp, entries[0].timestamp + length
    longest = TOLERATED / float(video.stream.time_base or 1)
    if longest < end - last - (last - first) / (len(entries) - 1):
        yield end


def _read_stamps(video: Opened) -> list[int]:
    read = islice(_packets(video), _READ)
    return [packet.pts for packet in read if packet.pts is not None]
