"""Completeness: detect truncated files by the size in their header.

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


def lacks(file: BinaryIO) -> tuple[int, int] | None:
    """Return the actual and the expected number of bytes of a truncated file, else None."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    head = file.read(12)
    told = next((told for magic, told in _TELLERS if head.startswith(magic)), None)
    promised = None
    if told is not None:
        promised = told(file, size)
    file.seek(0)
    return (size, promised) if promised is not None and size < promised - _SLACK else None


def _riff(file: BinaryIO, size: int) -> int | None:
    told = int.from_bytes(_at(file, 4, 4), "little")
    return 8 + told if told < _UNKNOWN else None


def _iff(file: BinaryIO, size: int) -> int | None:
    return 8 + int.from_bytes(_at(file, 4, 4), "big")


def _ogg(file: BinaryIO, size: int) -> int | None:
    """Return the end of the last page, computed from the lengths in its header."""
    start = max(0, size - _LONGEST_PAGE)
    tail = _at(file, start, _LONGEST_PAGE)
    place = tail.rfind(b"OggS\0")
    if place < 0 or place + 27 > len(tail):
        return None
    lengths = tail[place + 27 : place + 27 + tail[place + 26]]
    return start + place + 27 + tail[place + 26] + sum(lengths)


def _mp3(file: BinaryIO, size: int) -> int | None:
    """Read the size from the first frame: Xing, or Info if the bit rate is constant."""
    head = _at(file, 0, _HEAD)
    start = _behind_tags(head)
    first = head[start : start + 200]
    place = max(first.find(b"Xing"), first.find(b"Info"))
    if place < 0 or len(first) < place + 16:
        return None
    flags = first[place + 7]
    if not flags & 2:
        return None
    number = place + 8 + (4 if flags & 1 else 0)
    return start + int.from_bytes(first[number : number + 4], "big")


def _behind_tags(head: bytes) -> int:
    """Skip an ID3 tag, whose length is stored with seven bits in each of four bytes."""
    if head[:3] != b"ID3":
        return 0
    length = 0
    for byte in head[6:10]:
        length = length << 7 | byte & 127
    return 10 + length


def _asf(file: BinaryIO, size: int) -> int | None:
    head = _at(file, 0, _HEAD)
    place = head.find(_ASF_FILE)
    facts = head[place : place + 92]
    if place < 0 or len(facts) < 92 or facts[88] & _ASF_LIVE:
        return None
    return int.from_bytes(facts[40:48], "little") or None


def _matroska(file: BinaryIO, size: int) -> int | None:
    """Return the end of the segment: an id, and a number whose leading zeros give its width."""
    head = _at(file, 0, 4096)
    place = head.find(_SEGMENT)
    if place < 0 or place + 12 > len(head) or not head[place + 4]:
        return None
    width = 9 - head[place + 4].bit_length()
    number = head[place + 4 : place + 4 + width]
    told = int.from_bytes(number, "big") & ((1 << 7 * width) - 1)
    is_known = told != (1 << 7 * width) - 1
    return place + 4 + width + told if is_known else None


def _at(file: BinaryIO, place: int, count: int) -> bytes:
    file.seek(place)
    return file.read(count)


_TELLERS: tuple[tuple[bytes, Callable[[BinaryIO, int], int | None]], ...] = (
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
