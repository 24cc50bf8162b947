"""Tar headers: the 512-byte block before each member."""

from functools import lru_cache
from typing import NamedTuple
from zlib import adler32

from curator_core.errors import InputError

BLOCK = 512

REGULAR, LONG_NAME, LONG_LINK, EXTENDED, GLOBAL, DIRECTORY = b"0", b"L", b"K", b"x", b"g", b"5"
EXTENSIONS = (LONG_NAME, LONG_LINK, EXTENDED, GLOBAL)
"""Header types that describe the next header."""

_REGULAR_BYTE = ord("0")
_REGULAR = (b"0", b"\0", b"7")
_REFUSED = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a named pipe",
    b"S": "a sparse file",
}

_ADLER = 65521


class DamagedHeaderError(InputError):
    """The block is not a valid tar header."""


class Header(NamedTuple):
    kind: bytes
    size: int
    name: bytes


def header_of(block: bytes) -> Header:
    """Parse a header block; raise if its checksum is wrong."""
    expected = _expected(block[148:156])
    if expected is None:
        raise DamagedHeaderError("no tar header where one should be")
    if (adler32(block) & 0xFFFF) != expected:
        raise DamagedHeaderError("a tar header does not add up")
    kind = block[156:157]
    return Header(REGULAR if kind in _REGULAR else kind, _size_in(block[124:136]), _name_in(block))


def plain_file(block: bytes) -> tuple[str, int] | None:
    """Return name and size from a typical header, or None to use `header_of`.

    Typical headers describe a regular file, with the usual number format and a safe name.
    """
    if block[156] != _REGULAR_BYTE or block[135] or block[345]:
        return None
    end = block.find(0, 0, 100)
    if end <= 0 or (adler32(block) & 0xFFFF) != _expected(block[148:156]):
        return None
    try:
        name, size = block[:end].decode(), int(block[124:135], 8)
    except ValueError:
        return None
    return None if size < 0 or name[0] == "/" or ".." in name else (name, size)


@lru_cache(16384)  # a few thousand different checksums occur
def _expected(stored: bytes) -> int | None:
    """Return the lower half of Adler-32 for a block with the checksum in this field."""
    try:
        total = int(stored.split(b"\0", 1)[0], 8)
    except ValueError:
        return None
    # Adler-32 adds 1 to the sum of all bytes; the checksum counts its own field as blanks.
    return (total + 1 + sum(stored) - 8 * 32) % _ADLER


def refused_kind(kind: bytes) -> str:
    return _REFUSED.get(kind, f"of the unknown kind {kind!r}")


def _size_in(field: bytes) -> int:
    """Parse octal digits, or GNU tar's binary format for more than 8 GiB."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else _no_size()
    try:
        size = int(field.split(b"\0", 1)[0] or b"0", 8)
    except ValueError:
        return _no_size()
    return size if size >= 0 else _no_size()


def _no_size() -> int:
    raise DamagedHeaderError("a tar header holds no size")


def _name_in(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    if block[345] and block[257:263] == b"ustar\0":
        return block[345:500].split(b"\0", 1)[0] + b"/" + name
    return name


def pax_facts(data: bytes) -> dict[bytes, bytes]:
    """Parse an extended header: records of length, blank, `name=value` and newline."""
    facts: dict[bytes, bytes] = {}
    at = 0
    while at < len(data) and data[at]:
        blank = data.find(b" ", at, at + 12)
        digits = data[at:blank] if blank > at else b""
        length = int(digits) if digits.isdigit() else 0
        record = data[blank + 1 : at + length]
        if length < 4 or not record.endswith(b"\n") or b"=" not in record:
            raise DamagedHeaderError("an extended tar header is damaged")
        name, _, value = record[:-1].partition(b"=")
        facts[name] = value
        at += length
    return facts
