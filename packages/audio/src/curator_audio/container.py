"""Audio containers: open files or bytes in safe formats, and detect truncated files.

FFmpeg decodes the rest of a truncated file without an error, and its last word ends in the middle.
So the size in the header is compared to the size of the file. Files that were streamed while
recording have no size and are not checked.
"""

import errno
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from curator_core import CuratorError, InputError
from curator_core.errors import UnavailableError, reason_of
from curator_core.io.filesystems import StorageOptions, local_path
from curator_core.io.record_paths import check_record_path, open_record_path

if TYPE_CHECKING:
    from av.container import InputContainer


_UNKNOWN = 0x7FFFFFFF
"""RIFF sizes from this value on mean that the size is unknown."""

_SLACK = 64
"""Bytes that a header may count beyond the end without any sample missing."""

_HEAD = 128 * 1024
"""Bytes at the beginning to look at: pictures in tags come before the first sound."""

_LONGEST_PAGE = 27 + 255 + 255 * 255
"""Maximum bytes of an Ogg page."""

_ASF_FILE = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")

_ASF_LIVE = 1

_SEGMENT = b"\x18\x53\x80\x67"


def find_truncation(file: BinaryIO) -> tuple[int, int] | None:
    """Return the actual and the expected number of bytes of a truncated file, else None."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    head = file.read(12)
    read_size = next((read for magic, read in _SIZE_READERS if head.startswith(magic)), None)
    expected = None if read_size is None else read_size(file, size)
    file.seek(0)
    return (size, expected) if expected is not None and size < expected - _SLACK else None


def _riff(file: BinaryIO, size: int) -> int | None:
    length = int.from_bytes(_read_at(file, 4, 4), "little")
    return 8 + length if length < _UNKNOWN else None


def _iff(file: BinaryIO, size: int) -> int | None:
    return 8 + int.from_bytes(_read_at(file, 4, 4), "big")


def _ogg(file: BinaryIO, size: int) -> int | None:
    """Return the end of the last page, computed from the lengths in its header."""
    start = max(0, size - _LONGEST_PAGE)
    tail = _read_at(file, start, _LONGEST_PAGE)
    place = tail.rfind(b"OggS\0")
    if place < 0 or place + 27 > len(tail):
        return None
    lengths = tail[place + 27 : place + 27 + tail[place + 26]]
    return start + place + 27 + tail[place + 26] + sum(lengths)


def _mp3(file: BinaryIO, size: int) -> int | None:
    """Read the size from the first frame: Xing, or Info if the bit rate is constant."""
    head = _read_at(file, 0, _HEAD)
    start = _skip_tags(head)
    first = head[start : start + 200]
    place = max(first.find(b"Xing"), first.find(b"Info"))
    if place < 0 or len(first) < place + 16:
        return None
    flags = first[place + 7]
    if not flags & 2:
        return None
    number = place + 8 + (4 if flags & 1 else 0)
    return start + int.from_bytes(first[number : number + 4], "big")


def _skip_tags(head: bytes) -> int:
    """Skip an ID3 tag, whose length is stored with seven bits in each of four bytes."""
    if head[:3] != b"ID3":
        return 0
    length = 0
    for byte in head[6:10]:
        length = length << 7 | byte & 127
    return 10 + length


def _asf(file: BinaryIO, size: int) -> int | None:
    head = _read_at(file, 0, _HEAD)
    place = head.find(_ASF_FILE)
    facts = head[place : place + 92]
    if place < 0 or len(facts) < 92 or facts[88] & _ASF_LIVE:
        return None
    return int.from_bytes(facts[40:48], "little") or None


def _matroska(file: BinaryIO, size: int) -> int | None:
    """Return the end of the segment: an id, and a number whose leading zeros give its width."""
    head = _read_at(file, 0, 4096)
    place = head.find(_SEGMENT)
    if place < 0 or place + 12 > len(head) or not head[place + 4]:
        return None
    width = 9 - head[place + 4].bit_length()
    number = head[place + 4 : place + 4 + width]
    length = int.from_bytes(number, "big") & ((1 << 7 * width) - 1)
    is_known = length != (1 << 7 * width) - 1
    return place + 4 + width + length if is_known else None


def _read_at(file: BinaryIO, place: int, count: int) -> bytes:
    file.seek(place)
    return file.read(count)


_SIZE_READERS: tuple[tuple[bytes, Callable[[BinaryIO, int], int | None]], ...] = (
    (b"RIFF", _riff),
    (b"FORM", _iff),
    (b"OggS", _ogg),
    (b"ID3", _mp3),
    (b"\xff\xfb", _mp3),
    (b"\xff\xf3", _mp3),
    (b"\xff\xf2", _mp3),
    (b"\xff\xfa", _mp3),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _asf),
    (b"\x1a\x45\xdf\xa3", _matroska),
)

AudioSource: TypeAlias = str | bytes
"""A path or URL, or the encoded bytes."""

FORMATS = (
    "aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,eac3,flac,flv,gsm,matroska,mov,mp3,mpeg,"
    "mpegts,mpc,ogg,tta,voc,w64,wav,webm,wv,xwma"
)
"""Formats to read. Playlists are excluded, since they can name any file of the machine."""

_OPTIONS = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}

_WAV_OPTIONS = {**_OPTIONS, "max_probe_packets": "2"}
"""Samples in a WAV may be DTS; two packets suffice to detect it, FFmpeg's default is 2,500."""


class UndecodableError(InputError):
    """A recording that cannot be decoded."""


class UnreachableError(UndecodableError, UnavailableError):
    """A recording that cannot be reached now, but may be reachable later."""


@contextmanager
def open_container(
    source: AudioSource, storage_options: StorageOptions | None = None
) -> "Iterator[InputContainer]":
    """Open a container to decode from; raise UndecodableError if it is invalid."""
    import av

    file = _file(source, storage_options)
    try:
        if not file.read(1):
            raise UndecodableError("the file is empty (0 bytes)")
        file.seek(0)
        head = file.read(12)
        if (sizes := find_truncation(file)) is not None:
            raise UndecodableError(f"cut off after {sizes[0]} of {sizes[1]} bytes")
        with _container(file, av, head) as container:
            yield container
    except av.FFmpegError as error:
        raise UndecodableError(_describe_error(error)) from None
    finally:
        file.close()


_BAD_NAMES = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP, errno.EINVAL}
"""Errors that mean a name is invalid. Other errors may affect every row."""


def _file(source: AudioSource, storage_options: StorageOptions | None) -> BinaryIO:
    """Open a file; raise UndecodableError if only this row's name or storage is at fault."""
    if isinstance(source, bytes | memoryview):
        return io.BytesIO(source)
    plain = local_path(source)
    return _open_remote(source, storage_options) if plain is None else _open_local(plain)


def _open_local(path: str) -> BinaryIO:
    try:
        check_record_path(path)
        return open(path, "rb")
    except CuratorError as error:
        raise UndecodableError(str(error)) from None
    except FileNotFoundError:
        raise UnreachableError("the file does not exist") from None
    except IsADirectoryError:
        raise UndecodableError("it is a folder, not a file") from None
    except PermissionError:
        raise UnreachableError("permission denied; allow reading it") from None
    except OSError as error:
        if error.errno not in _BAD_NAMES:
            raise
        raise UndecodableError(f"not a valid file name: {error.strerror}") from None


def _open_remote(source: str, storage_options: StorageOptions | None) -> BinaryIO:
    try:
        return cast(BinaryIO, _RemoteFile(open_record_path(source, storage_options)))
    except UnavailableError as error:
        raise UnreachableError(str(error)) from None
    except CuratorError as error:
        raise UndecodableError(str(error)) from None
    except Exception as error:  # noqa: BLE001 - each storage has its own errors
        raise UndecodableError(f"cannot open {source}: {reason_of(error)}") from None


class _RemoteFile:
    """A remote file whose read errors affect only this recording."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except Exception as error:  # noqa: BLE001 - each storage has its own errors
            raise UnreachableError(f"reading failed: {reason_of(error)}") from None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return self._file.seekable()

    def close(self) -> None:
        self._file.close()


def _container(file: BinaryIO, av: Any, head: bytes) -> "InputContainer":
    is_wav = head[:4] == b"RIFF" and head[8:] == b"WAVE"
    options = dict(_WAV_OPTIONS if is_wav else _OPTIONS)
    try:
        container: InputContainer = av.open(file, "r", options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError, OverflowError) as error:
        if head[4:8] == b"ftyp":
            raise UndecodableError(
                "its index (moov) is missing or damaged: the file was cut off, or its recording "
                "was never finished"
            ) from None
        raise UndecodableError(
            f"not audio in a supported format ({_describe_error(error)}); the format is detected "
            "from the content, whatever the file extension says"
        ) from None
    if not container.streams.audio:
        container.close()
        raise UndecodableError("the file has no audio stream")
    return container


def _describe_error(error: Exception) -> str:
    text = str(getattr(error, "strerror", None) or error or type(error).__name__)
    return text[:1].lower() + text[1:]
