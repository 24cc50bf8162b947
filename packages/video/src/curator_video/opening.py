"""Opening videos: a container in a supported format, from a file, a store or memory.

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

from curator_video.sources import VideoSource
from curator_video.stretches import Stretch, open_anywhere

if TYPE_CHECKING:
    from av import Packet
    from av.container import InputContainer
    from av.video.stream import VideoStream

FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts"
ENDINGS = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts")

LARGEST_PICTURE = 16384 * 16384
"""Pixels. Larger pictures would fill the memory, and no real video has them."""

_BEGIN = 512

_OPTIONS = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}

_ORDERED_BY_DECODERS = frozenset({"h264", "hevc"})
"""Codecs for which only the decoder knows the presentation order of packets."""

_PACKED = re.compile(rb"DivX\d+(?:Build|b)\d+p")
"""Encoder tag that DivX and XviD write if they pack two pictures into one packet."""


class UnreadableVideoError(InputError):
    """No part of the video can be read."""


@dataclass(frozen=True)
class Opened:
    """An open container and its main video stream."""

    container: "InputContainer"
    stream: "VideoStream"
    delay: int = 0
    """Number of pictures that the decoder holds back to reorder them."""

    @property
    def is_avi(self) -> bool:
        """Whether the container is AVI: packets have decoding order only; a tick is a picture."""
        return self.container.format.name == "avi"

    @property
    def is_unordered(self) -> bool:
        """Whether a picture may be shown up to `delay` ticks before the time of its packet."""
        if not self.is_avi:
            return False
        known = self.stream.codec_context.extradata or b""
        return _codec_name(self.stream) in _ORDERED_BY_DECODERS or bool(_PACKED.search(known))


@contextmanager
def opened(source: VideoSource) -> Iterator[Opened]:
    """Open a video; raise UnreadableVideoError with the reason if it cannot be read."""
    with _handle(source) as handle, _container(source, handle) as container:
        stream = _picture_stream(source, container)
        # The depth from the headers: a decoder changes it when it finds that it needs more.
        yield Opened(container, stream, stream.codec_context.reorder_depth)


@contextmanager
def _handle(source: VideoSource) -> Iterator[Any]:
    """Yield an input for av: a plain path or a file object."""
    if source.content is not None:
        _refuse_empty(source, len(source.content))
        yield io.BytesIO(source.content)
        return
    if source.inside is not None:
        _refuse_empty(source, source.size)
        with open_anywhere(source.inside.path, source.storage_options) as file:
            yield Stretch(file, source.inside.start, source.size)
        return
    plain = local_path(source.path)
    with open_anywhere(source.path, source.storage_options) as file:
        _refuse_empty(source, file.seek(0, io.SEEK_END))
        file.seek(0)
        yield file if plain is None else f"file:{plain}"  # allows colons in names


def _refuse_empty(source: VideoSource, size: int) -> None:
    if not size:
        raise UnreadableVideoError(f"{source.path} is empty (0 bytes); fetch it again")


def _refuse_page(source: VideoSource, handle: Any) -> None:
    """Raise if a server returned a web page instead of the video, such as a folder listing."""
    if isinstance(handle, str):
        with open(handle.removeprefix("file:"), "rb") as file:
            begin = file.read(_BEGIN)
    else:
        handle.seek(0)
        begin = handle.read(_BEGIN)
    if begin.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise UnreadableVideoError(
            f"{source.path} is a web page (HTML), and no video; fetch the film itself, and let the "
            "address of a folder end in /"
        )


@contextmanager
def _container(source: VideoSource, handle: Any) -> Iterator["InputContainer"]:
    import av

    try:
        container = av.open(handle, options=dict(_OPTIONS), metadata_errors="replace")
    except (av.FFmpegError, ValueError, UnicodeError) as error:
        _refuse_page(source, handle)
        raise UnreadableVideoError(
            f"{source.path} cannot be opened as a video: it is cut short, damaged, or none of "
            f"{', '.join(ending[1:] for ending in ENDINGS)} ({reason_of(error)})"
        ) from None
    with container:
        yield container


def packets(video: Opened) -> "Iterator[Packet[VideoStream]]":
    """Yield video packets from the current position, with reliable times."""
    found = packets_of(video.stream, video.container)
    return _timed(found, video.delay) if video.is_unordered else found


def packets_of(stream: Any, container: "InputContainer") -> Iterator[Any]:
    """Yield the packets of one stream from the current position.

    Other streams may appear on the way, as in recordings of broadcasts. av raises IndexError when
    it looks them up after the last packet.
    """
    with suppress(IndexError):
        yield from container.demux(stream)


def _timed(stored: "Iterator[Packet[VideoStream]]", delay: int) -> "Iterator[Packet[VideoStream]]":
    """Set times as if pictures were shown in this order, which is true for keyframes."""
    for packet in stored:
        packet.pts = None if packet.dts is None else packet.dts + delay
        yield packet


def rewind(container: "InputContainer") -> None:
    """Seek to the beginning, or as close to it as a damaged file allows."""
    import av

    with suppress(av.FFmpegError, OSError):
        container.seek(0)


def reason_of(error: BaseException) -> str:
    """Return av's error message without the number and the file name."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).partition(":")[0]


def _picture_stream(source: VideoSource, container: "InputContainer") -> "VideoStream":
    streams = [one for one in container.streams.video if not _is_cover(one)]
    if not streams:
        others = [f"{one.type} ({_codec_name(one)})" for one in container.streams]
        held = f"only {', '.join(others)}" if others else "no streams at all"
        raise UnreadableVideoError(f"{source.path} has no video track, {held}")
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
        raise UnreadableVideoError(f"{source.path}: its pictures have no size, it has no frames")
    if width * height > LARGEST_PICTURE:
        raise UnreadableVideoError(
            f"{source.path} claims pictures of {width}x{height}, more than {LARGEST_PICTURE} pixels"
        )
