"""Truncation: compare the size in a file's header with the size of the file.

FFmpeg decodes the rest of a truncated file without an error, and its last word ends in the middle.
Files that were streamed while recording have no size and are not checked.
"""

import io
from collections.abc import Callable
from typing import BinaryIO

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


def _riff_size(file: BinaryIO, size: int) -> int | None:
    length = int.from_bytes(_read_at(file, 4, 4), "little")
    return 8 + length if length < _UNKNOWN else None


def _iff_size(file: BinaryIO, size: int) -> int | None:
    return 8 + int.from_bytes(_read_at(file, 4, 4), "big")


def _ogg_size(file: BinaryIO, size: int) -> int | None:
    """Return the end of the last page, computed from the lengths in its header."""
    start = max(0, size - _LONGEST_PAGE)
    tail = _read_at(file, start, _LONGEST_PAGE)
    offset = tail.rfind(b"OggS\0")
    if offset < 0 or offset + 27 > len(tail):
        return None
    lengths = tail[offset + 27 : offset + 27 + tail[offset + 26]]
    return start + offset + 27 + tail[offset + 26] + sum(lengths)


def _mp3_size(file: BinaryIO, size: int) -> int | None:
    """Read the size from the first frame: Xing, or Info if the bit rate is constant."""
    head = _read_at(file, 0, _HEAD)
    start = _skip_tags(head)
    first = head[start : start + 200]
    offset = max(first.find(b"Xing"), first.find(b"Info"))
    if offset < 0 or len(first) < offset + 16:
        return None
    flags = first[offset + 7]
    if not flags & 2:
        return None
    number = offset + 8 + (4 if flags & 1 else 0)
    return start + int.from_bytes(first[number : number + 4], "big")


def _skip_tags(head: bytes) -> int:
    """Skip an ID3 tag, whose length is stored with seven bits in each of four bytes."""
    if head[:3] != b"ID3":
        return 0
    length = 0
    for byte in head[6:10]:
        length = length << 7 | byte & 127
    return 10 + length


def _asf_size(file: BinaryIO, size: int) -> int | None:
    head = _read_at(file, 0, _HEAD)
    offset = head.find(_ASF_FILE)
    facts = head[offset : offset + 92]
    if offset < 0 or len(facts) < 92 or facts[88] & _ASF_LIVE:
        return None
    return int.from_bytes(facts[40:48], "little") or None


def _matroska_size(file: BinaryIO, size: int) -> int | None:
    """Return the end of the segment: an id, and a number whose leading zeros give its width."""
    head = _read_at(file, 0, 4096)
    offset = head.find(_SEGMENT)
    if offset < 0 or offset + 12 > len(head) or not head[offset + 4]:
        return None
    width = 9 - head[offset + 4].bit_length()
    number = head[offset + 4 : offset + 4 + width]
    length = int.from_bytes(number, "big") & ((1 << 7 * width) - 1)
    is_known = length != (1 << 7 * width) - 1
    return offset + 4 + width + length if is_known else None


def _read_at(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    return file.read(count)


_SIZE_READERS: tuple[tuple[bytes, Callable[[BinaryIO, int], int | None]], ...] = (
    (b"RIFF", _riff_size),
    (b"FORM", _iff_size),
    (b"OggS", _ogg_size),
    (b"ID3", _mp3_size),
    (b"\xff\xfb", _mp3_size),
    (b"\xff\xf3", _mp3_size),
    (b"\xff\xf2", _mp3_size),
    (b"\xff\xfa", _mp3_size),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _asf_size),
    (b"\x1a\x45\xdf\xa3", _matroska_size),
)
