"""Headers: the 512 bytes in front of each member of a tar file."""

from typing import NamedTuple
from zlib import adler32

from curator_core.errors import InputError

BLOCK = 512

REGULAR, LONG_NAME, LONG_LINK, EXTENDED, GLOBAL, DIRECTORY = b"0", b"L", b"K", b"x", b"g", b"5"
EXTENSIONS = (LONG_NAME, LONG_LINK, EXTENDED, GLOBAL)
"""Kinds of headers that say something about the next one."""

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
    """These bytes are no header of a tar member."""


class Header(NamedTuple):
    kind: bytes
    size: int
    name: bytes


def header_of(block: bytes) -> Header:
    """What a block says, if it adds up."""
    stored = block[148:156]
    try:
        expected = int(stored.split(b"\0", 1)[0], 8)
    except ValueError:
        raise DamagedHeaderError("no tar header where one should be") from None
    # Adler's lower half is the sum of all bytes, and one more; its own field counts as blanks.
    total = (adler32(block) & 0xFFFF) - 1 - sum(stored) + 256
    if (total - expected) % _ADLER:
        raise DamagedHeaderError("a tar header does not add up")
    kind = block[156:157]
    return Header(REGULAR if kind in _REGULAR else kind, _size_in(block[124:136]), _name_in(block))


def refused_kind(kind: bytes) -> str:
    return _REFUSED.get(kind, f"of the unknown kind {kind!r}")


def _size_in(field: bytes) -> int:
    """Octal digits, or what GNU tar writes for more than 8 GiB."""
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
    """The records of an extended header: each its length, a blank, `name=value` and a line end."""
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
