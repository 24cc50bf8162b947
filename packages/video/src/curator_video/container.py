"""Video containers: opening them and reading their packets.

Files may be untrusted. Playlists, other formats that refer to other files, and all protocols except
`file` are therefore refused.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.errors import InputError
from curator_core.io.filesystems import local_path

from curator_video.source import FileRange, VideoSource, open_seekable

if TYPE_CHECKING:
    from av import Packet
    from av.container import InputContainer
    from av.video.stream import VideoStream

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts"
EXTENSIONS = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts")
MAX_PIXELS = 16384 * 16384
"""Larger frames would fill the memory, and no real video has them."""

END_TOLERANCE_S = 1.0
"""A video that ends earlier than its headers say by more than this was cut short."""

_SNIFFED_BYTES = 512
_OPTIONS = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}
_ORDERED_BY_DECODERS = frozenset({"h264", "hevc"})
"""Codecs for which only the decoder knows the presentation order of packets."""

_PACKED_FRAMES_TAG = re.compile(rb"DivX\d+(?:Build|b)\d+p")
"""Encoder tag that DivX and XviD write if they pack two frames into one packet."""


class UnreadableVideoError(InputError):
    """No part of the video can be read."""


@dataclass(frozen=True)
class OpenVideo:
    """An open container and its main video stream."""

    container: "InputContainer"
    stream: "VideoStream"
    delay: int = 0
    """Number of frames that the decoder holds back to reorder them."""

    @property
    def is_avi(self) -> bool:
        """Whether the container is AVI: packets have decoding order only; a tick is a frame."""
        return self.container.format.name == "avi"

    @property
    def is_unordered(self) -> bool:
        """Whether a frame may be shown up to `delay` ticks before the time of its packet."""
        if not self.is_avi:
            return False
        known = self.stream.codec_context.extradata or b""
        return _codec_name(self.stream) in _ORDERED_BY_DECODERS or bool(
            _PACKED_FRAMES_TAG.search(known)
        )


@contextmanager
def open_video(source: VideoSource) -> Iterator[OpenVideo]:
    """Open a video; raise UnreadableVideoError with the reason if it cannot be read."""
    with _open_input(source) as handle, _open_container(source, handle) as container:
        stream = _video_stream(source, container)
        # The depth from the headers: a decoder changes it when it finds that it needs more.
        yield OpenVideo(container, stream, stream.codec_context.reorder_depth)


@contextmanager
def _open_input(source: VideoSource) -> Iterator[Any]:
    """Yield an input for av: a plain path or a file object."""
    if source.content is not None:
        _refuse_empty(source, len(source.content))
        yield io.BytesIO(source.content)
        return
    if source.shard_member is not None:
        _refuse_empty(source, source.size)
        with open_seekable(source.shard_member.path, source.storage_options) as file:
            yield FileRange(file, source.shard_member.start, source.size)
        return
    plain = local_path(source.path)
    with open_seekable(source.path, source.storage_options) as file:
        _refuse_empty(source, file.seek(0, io.SEEK_END))
        file.seek(0)
        yield file if plain is None else f"file:{plain}"  # allows colons in names


def _refuse_empty(source: VideoSource, size: int) -> None:
    if not size:
        raise UnreadableVideoError(f"{source.path} is empty (0 bytes); download it again")


def _refuse_page(source: VideoSource, handle: Any) -> None:
    """Raise if a server returned a web page instead of the video, such as a folder listing."""
    if isinstance(handle, str):
        with open(handle.removeprefix("file:"), "rb") as file:
            start = file.read(_SNIFFED_BYTES)
    else:
        handle.seek(0)
        start = handle.read(_SNIFFED_BYTES)
    if start.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise UnreadableVideoError(
            f"{source.path} is a web page (HTML), not a video; give the URL of the video, or end "
            "the URL of a folder with /"
        )


@contextmanager
def _open_container(source: VideoSource, handle: Any) -> Iterator["InputContainer"]:
    import av

    try:
        container = av.open(handle, options=dict(_OPTIONS), metadata_errors="replace")
    except (av.FFmpegError, ValueError, UnicodeError) as error:
        _refuse_page(source, handle)
        raise UnreadableVideoError(
            f"{source.path} cannot be opened as a video: it is cut short, damaged, or none of "
            f"{', '.join(ending[1:] for ending in EXTENSIONS)} ({error_text(error)})"
        ) from None
    with container:
        yield container


def read_packets(video: OpenVideo) -> "Iterator[Packet[VideoStream]]":
    """Yield video packets from the current position, with reliable times."""
    found = stream_packets(video.stream, video.container)
    return _with_display_times(found, video.delay) if video.is_unordered else found


def stream_packets(stream: Any, container: "InputContainer") -> Iterator[Any]:
    """Yield the packets of one stream from the current position.

    Other streams may appear on the way, as in recordings of broadcasts. av raises IndexError when
    it looks them up after the last packet.
    """
    with suppress(IndexError):
        yield from container.demux(stream)


def _with_display_times(
    stored: "Iterator[Packet[VideoStream]]", delay: int
) -> "Iterator[Packet[VideoStream]]":
    """Set times as if frames were shown in decoding order, which is true for keyframes."""
    for packet in stored:
        packet.pts = None if packet.dts is None else packet.dts + delay
        yield packet


def rewind(container: "InputContainer") -> None:
    """Seek to the beginning, or as close to it as a damaged file allows."""
    import av

    with suppress(av.FFmpegError, OSError):
        container.seek(0)


def error_text(error: BaseException) -> str:
    """Return av's error message without the number and the file name."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).partition(":")[0]


def _video_stream(source: VideoSource, container: "InputContainer") -> "VideoStream":
    streams = [one for one in container.streams.video if not _is_cover(one)]
    if not streams:
        others = [f"{one.type} ({_codec_name(one)})" for one in container.streams]
        tracks = f"only {', '.join(others)}" if others else "no streams at all"
        raise UnreadableVideoError(f"{source.path} has no video track, {tracks}")
    stream = streams[0]
    if stream.codec_context is None:
        raise UnreadableVideoError(f"{source.path}: this build of av cannot decode its video track")
    _refuse_size(source, stream)
    stream.codec_context.thread_count = 1  # workers already run in parallel
    return stream


def _is_cover(stream: "VideoStream") -> bool:
    """Return whether the stream is album art, which files store as a video track."""
    return "attached_pic" in (stream.disposition.name or "").lower()


def _codec_name(stream: Any) -> str:
    return "unknown" if stream.codec_context is None else str(stream.codec_context.name)


def _refuse_size(source: VideoSource, stream: "VideoStream") -> None:
    width, height = stream.width, stream.height
    if not width or not height:
        raise UnreadableVideoError(
            f"{source.path}: the video track has no frame size, so it has no frames"
        )
    if width * height > MAX_PIXELS:
        raise UnreadableVideoError(
            f"{source.path} claims frames of {width}x{height}, more than {MAX_PIXELS} pixels"
        )


def first_frame_time(video: OpenVideo) -> float:
    """Return when the first frame is shown, on the clock of the file."""
    start, tick = video.stream.start_time or 0, video.stream.time_base
    if video.is_avi:  # its start time is that of the first packet
        start += video.delay
    return float(start * tick) if tick else 0.0


def header_duration(video: OpenVideo) -> float:
    """Return the duration in the headers: of the track if known, else of the file."""
    stream = video.stream
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    if (clock := stream.metadata.get("DURATION")) and (seconds := _parse_seconds(clock)):
        return seconds - first_frame_time(video)
    return float((video.container.duration or 0) / 1_000_000)


def _parse_seconds(clock: str) -> float:
    """Parse a Matroska track duration, such as 00:01:02.500000000."""
    try:
        hours, minutes, seconds = clock.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        return 0.0
