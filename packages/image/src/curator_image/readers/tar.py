"""Tar files: parse the headers, and walk from member to member, past damage."""

from collections.abc import Generator, Iterator
from functools import lru_cache, partial
from typing import NamedTuple
from zlib import adler32

from curator_core.errors import InputError

from curator_image.readers.shard_content import ShardContent

BLOCK = 512

REGULAR, LONG_NAME, LONG_LINK, EXTENDED, GLOBAL, DIRECTORY = b"0", b"L", b"K", b"x", b"g", b"5"
EXTENSION_KINDS = (LONG_NAME, LONG_LINK, EXTENDED, GLOBAL)
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


class TarHeader(NamedTuple):
    kind: bytes
    size: int
    name: bytes


def parse_header(block: bytes) -> TarHeader:
    """Parse a header block; raise if its checksum is wrong."""
    expected = _expected_sum(block[148:156])
    if expected is None:
        raise DamagedHeaderError("a tar header is missing")
    if (adler32(block) & 0xFFFF) != expected:
        raise DamagedHeaderError("a tar header has a wrong checksum")
    kind = block[156:157]
    return TarHeader(
        REGULAR if kind in _REGULAR else kind, _parse_size(block[124:136]), _parse_name(block)
    )


def parse_plain_header(block: bytes) -> tuple[str, int] | None:
    """Return name and size from a typical header, or None to use `header_of`.

    Typical headers describe a regular file, with the usual number format and a safe name.
    """
    if block[156] != _REGULAR_BYTE or block[135] or block[345]:
        return None
    end = block.find(0, 0, 100)
    if end <= 0 or (adler32(block) & 0xFFFF) != _expected_sum(block[148:156]):
        return None
    try:
        name, size = block[:end].decode(), int(block[124:135], 8)
    except ValueError:
        return None
    return None if size < 0 or name[0] == "/" or ".." in name else (name, size)


@lru_cache(16384)  # a few thousand different checksums occur
def _expected_sum(stored: bytes) -> int | None:
    """Return the lower half of Adler-32 for a block with the checksum in this field."""
    try:
        total = int(stored.split(b"\0", 1)[0], 8)
    except ValueError:
        return None
    # Adler-32 adds 1 to the sum of all bytes; the checksum counts its own field as blanks.
    return (total + 1 + sum(stored) - 8 * 32) % _ADLER


def describe_kind(kind: bytes) -> str:
    return _REFUSED.get(kind, f"of the unknown kind {kind!r}")


def _parse_size(field: bytes) -> int:
    """Parse octal digits, or GNU tar's binary format for more than 8 GiB."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else _raise_bad_size()
    try:
        size = int(field.split(b"\0", 1)[0] or b"0", 8)
    except ValueError:
        return _raise_bad_size()
    return size if size >= 0 else _raise_bad_size()


def _raise_bad_size() -> int:
    raise DamagedHeaderError("a tar header has an invalid size")


def _parse_name(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    if block[345] and block[257:263] == b"ustar\0":
        return block[345:500].split(b"\0", 1)[0] + b"/" + name
    return name


def parse_pax(data: bytes) -> dict[bytes, bytes]:
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


_MAX_EXTENSION_BYTES = 1024 * 1024
_MAX_HEADER_DISTANCE = 64 * BLOCK
"""Maximum distance between a header and the headers with its long name."""

_ZEROS = bytes(BLOCK)
_KINDS = frozenset(bytes([kind]) for kind in b"\x0001234567LKxgS")


class TarMember(NamedTuple):
    """A regular file: the start of its first header, and the position of its content."""

    start: int
    name: str
    at: int
    size: int


_make_member = partial(tuple.__new__, TarMember)  # twice as fast


class RefusedMember(NamedTuple):
    """A member that is refused: a link, or a name that leads outside."""

    start: int
    name: str
    reason: str


class DamagedRange(NamedTuple):
    """A range without readable members. `end` None is the end of the file."""

    start: int
    end: int | None
    reason: str


TarItem = TarMember | RefusedMember | DamagedRange


class _PendingExtensions:
    """Values from extension headers for the next member."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.name: bytes | None = None
        self.size: int | None = None
        self.is_sparse = False

    def add(self, header: TarHeader, data: bytes, start: int) -> None:
        if self.start is None:
            self.start = start
        if header.kind == LONG_NAME:
            self.name = data.split(b"\0", 1)[0]
        elif header.kind == EXTENDED:
            facts = parse_pax(data)
            self.name = facts.get(b"path", self.name)
            if b"size" in facts:
                self.size = int(facts[b"size"]) if facts[b"size"].isdigit() else 0
            self.is_sparse |= any(name.startswith(b"GNU.sparse") for name in facts)


def walk_members(content: ShardContent, start: int = 0) -> Iterator[TarItem]:
    """Yield all members, refusals and damage from the header at `start`; continue after damage."""
    at: int | None = start
    while at is not None:
        at = yield from _plain_members(content, at)
        at = yield from _other_member(content, at)


def _plain_members(content: ShardContent, at: int) -> Generator[TarMember, None, int]:
    """Yield consecutive typical members; return the position of the first other header."""
    read = content.read
    while (
        len(block := read(at, at + BLOCK)) == BLOCK
        and (plain := parse_plain_header(block)) is not None
    ):
        name, size = plain
        content_start = at + BLOCK
        yield _make_member((at, name, content_start, size))
        at = content_start + (size + BLOCK - 1) // BLOCK * BLOCK
    return at


def _other_member(content: ShardContent, at: int) -> Generator[TarItem, None, int | None]:
    """Yield a member that needs full parsing; return the position of the next header or None."""
    pending = _PendingExtensions()
    while len(block := content.read(at, at + BLOCK)) == BLOCK:
        if not block[0] and block == _ZEROS:  # end marker; another tar file may follow
            at += BLOCK
            continue
        try:
            header = _read_header(content, block, at, pending)
        except DamagedHeaderError as error:
            found = next_header(content, at + BLOCK)
            yield DamagedRange(at if pending.start is None else pending.start, found, str(error))
            return found
        if (item := _to_item(header, pending, at)) is not None:
            yield item
        at += BLOCK + (header.size + BLOCK - 1) // BLOCK * BLOCK
        if header.kind not in EXTENSION_KINDS:
            return at
    if block.strip(b"\0"):
        yield DamagedRange(at, None, "the file is truncated within a tar header")
    return None


def _read_header(
    content: ShardContent, block: bytes, at: int, pending: _PendingExtensions
) -> TarHeader:
    """Parse a header with its actual size; keep what it says about the next one."""
    header = parse_header(block)
    if header.kind in EXTENSION_KINDS:
        pending.add(header, _read_extension(content, header, at), at)
    elif pending.size is not None:
        return header._replace(size=pending.size)
    return header


def _read_extension(content: ShardContent, header: TarHeader, at: int) -> bytes:
    if header.size > _MAX_EXTENSION_BYTES:
        raise DamagedHeaderError("an extended tar header is longer than a mebibyte")
    data = content.read(at + BLOCK, at + BLOCK + header.size)
    if len(data) < header.size:
        raise DamagedHeaderError("the file is truncated within an extended tar header")
    return data


def _to_item(
    header: TarHeader, pending: _PendingExtensions, at: int
) -> TarMember | RefusedMember | None:
    start = at if pending.start is None else pending.start
    raw = header.name if pending.name is None else pending.name
    if header.kind == DIRECTORY or header.kind in EXTENSION_KINDS:
        return None
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return RefusedMember(start, raw.decode(errors="backslashreplace"), "its name is not UTF-8")
    reason = None
    if header.kind != REGULAR:
        reason = f"it is {describe_kind(header.kind)}, not a regular file"
    elif pending.is_sparse:
        reason = "it is a sparse file: store it as a regular file"
    elif name[:1] == "/" or ".." in name:
        reason = _path_problem(name)
    return (
        RefusedMember(start, name, reason)
        if reason
        else TarMember(start, name, at + BLOCK, header.size)
    )


def _path_problem(name: str) -> str | None:
    if name.startswith("/"):
        return "its name is an absolute path"
    if ".." in name.split("/"):
        return "its name leads outside its folder (..)"
    return None


def _padded_size(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK


def next_header(content: ShardContent, position: int) -> int | None:
    """Return the position of the first valid header at or after `position`, or None."""
    at = -(-position // BLOCK) * BLOCK
    while len(window := content.read(at, at + 128 * BLOCK)) >= BLOCK:
        for offset in range(0, len(window) - BLOCK + 1, BLOCK):
            if _try_parse(window[offset : offset + BLOCK]) is not None:
                return at + offset
        at += len(window) // BLOCK * BLOCK
    return None


def first_member(content: ShardContent, position: int) -> int | None:
    """Return the first header of the first member at or after `position`.

    Several headers may describe a member; the first of them may be before `position`.
    """
    found = next_header(content, position)
    while found is not None and (before := _previous_header(content, found)) is not None:
        found = before
    return found


def _previous_header(content: ShardContent, at: int) -> int | None:
    """Return the position of an extension header for the header at `at`, or None."""
    first = max(0, at - _MAX_HEADER_DISTANCE)
    window = content.read(first, at)
    for offset in range(0, len(window) - BLOCK + 1, BLOCK):
        header = _try_parse(window[offset : offset + BLOCK])
        if header is None or header.kind not in EXTENSION_KINDS:
            continue
        if first + offset + BLOCK + _padded_size(header.size) == at:
            return first + offset
    return None


def _try_parse(block: bytes) -> TarHeader | None:
    if block[156:157] not in _KINDS:  # skip the checksum for most data blocks
        return None
    try:
        return parse_header(block)
    except DamagedHeaderError:
        return None
