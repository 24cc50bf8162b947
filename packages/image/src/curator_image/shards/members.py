"""Tar members: walk through a tar file from header to header."""

from collections.abc import Generator, Iterator
from functools import partial
from typing import NamedTuple

from curator_image.shards.contents import Content
from curator_image.shards.headers import (
    BLOCK,
    DIRECTORY,
    EXTENDED,
    EXTENSIONS,
    LONG_NAME,
    REGULAR,
    DamagedHeaderError,
    Header,
    header_of,
    pax_facts,
    plain_file,
    refused_kind,
)

_LONGEST_EXTENSION = 1024 * 1024
_BEHIND = 64 * BLOCK
"""Maximum distance between a header and the headers with its long name."""

_ZEROS = bytes(BLOCK)
_KINDS = frozenset(bytes([kind]) for kind in b"\x0001234567LKxgS")


class Member(NamedTuple):
    """A regular file: the start of its first header, and the position of its content."""

    start: int
    name: str
    at: int
    size: int


_member = partial(tuple.__new__, Member)  # twice as fast


class Refused(NamedTuple):
    """A member that is refused: a link, or a name that leads outside."""

    start: int
    name: str
    reason: str


class Damage(NamedTuple):
    """A range without readable members. `end` None is the end of the file."""

    start: int
    end: int | None
    reason: str


Met = Member | Refused | Damage


class _Pending:
    """Values from extension headers for the next member."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.name: bytes | None = None
        self.size: int | None = None
        self.is_sparse = False

    def add(self, header: Header, data: bytes, start: int) -> None:
        if self.start is None:
            self.start = start
        if header.kind == LONG_NAME:
            self.name = data.split(b"\0", 1)[0]
        elif header.kind == EXTENDED:
            facts = pax_facts(data)
            self.name = facts.get(b"path", self.name)
            if b"size" in facts:
                self.size = int(facts[b"size"]) if facts[b"size"].isdigit() else 0
            self.is_sparse |= any(name.startswith(b"GNU.sparse") for name in facts)


def members_of(content: Content, start: int = 0) -> Iterator[Met]:
    """Yield all members, refusals and damage from the header at `start`; continue after damage."""
    at: int | None = start
    while at is not None:
        at = yield from _plain_members(content, at)
        at = yield from _other_member(content, at)


def _plain_members(content: Content, at: int) -> Generator[Member, None, int]:
    """Yield consecutive typical members; return the position of the first other header."""
    cut = content.cut
    while len(block := cut(at, at + BLOCK)) == BLOCK and (plain := plain_file(block)) is not None:
        name, size = plain
        behind = at + BLOCK
        yield _member((at, name, behind, size))
        at = behind + (size + BLOCK - 1) // BLOCK * BLOCK
    return at


def _other_member(content: Content, at: int) -> Generator[Met, None, int | None]:
    """Yield a member that needs full parsing; return the position of the next header or None."""
    pending = _Pending()
    while len(block := content.cut(at, at + BLOCK)) == BLOCK:
        if not block[0] and block == _ZEROS:  # end marker; another tar file may follow
            at += BLOCK
            continue
        try:
            header = _told(content, block, at, pending)
        except DamagedHeaderError as error:
            found = next_header(content, at + BLOCK)
            yield Damage(at if pending.start is None else pending.start, found, str(error))
            return found
        if (met := _met(header, pending, at)) is not None:
            yield met
        at += BLOCK + (header.size + BLOCK - 1) // BLOCK * BLOCK
        if header.kind not in EXTENSIONS:
            return at
    if block.strip(b"\0"):
        yield Damage(at, None, "the file is cut off within a tar header")
    return None


def _told(content: Content, block: bytes, at: int, pending: _Pending) -> Header:
    """Parse a header with its actual size; keep what it says about the next one."""
    header = header_of(block)
    if header.kind in EXTENSIONS:
        pending.add(header, _extension(content, header, at), at)
    elif pending.size is not None:
        return header._replace(size=pending.size)
    return header


def _extension(content: Content, header: Header, at: int) -> bytes:
    if header.size > _LONGEST_EXTENSION:
        raise DamagedHeaderError("an extended tar header is longer than a mebibyte")
    data = content.cut(at + BLOCK, at + BLOCK + header.size)
    if len(data) < header.size:
        raise DamagedHeaderError("the file is cut off within an extended tar header")
    return data


def _met(header: Header, pending: _Pending, at: int) -> Member | Refused | None:
    start = at if pending.start is None else pending.start
    raw = header.name if pending.name is None else pending.name
    if header.kind == DIRECTORY or header.kind in EXTENSIONS:
        return None
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return Refused(start, raw.decode(errors="backslashreplace"), "its name is not UTF-8")
    reason = None
    if header.kind != REGULAR:
        reason = f"it is {refused_kind(header.kind)}, and no file"
    elif pending.is_sparse:
        reason = "it is a sparse file; write it anew as a plain one"
    elif name[:1] == "/" or ".." in name:
        reason = _leads_elsewhere(name)
    return Refused(start, name, reason) if reason else Member(start, name, at + BLOCK, header.size)


def _leads_elsewhere(name: str) -> str | None:
    if name.startswith("/"):
        return "its name is an absolute path"
    if ".." in name.split("/"):
        return "its name leads out of its folder (..)"
    return None


def _padded(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK


def next_header(content: Content, position: int) -> int | None:
    """Return the position of the first valid header at or after `position`, or None."""
    at = -(-position // BLOCK) * BLOCK
    while len(window := content.cut(at, at + 128 * BLOCK)) >= BLOCK:
        for offset in range(0, len(window) - BLOCK + 1, BLOCK):
            if _known(window[offset : offset + BLOCK]) is not None:
                return at + offset
        at += len(window) // BLOCK * BLOCK
    return None


def first_member(content: Content, position: int) -> int | None:
    """Return the first header of the first member at or after `position`.

    Several headers may describe a member; the first of them may be before `position`.
    """
    found = next_header(content, position)
    while found is not None and (before := _header_in_front(content, found)) is not None:
        found = before
    return found


def _header_in_front(content: Content, at: int) -> int | None:
    """Return the position of an extension header for the header at `at`, or None."""
    first = max(0, at - _BEHIND)
    window = content.cut(first, at)
    for offset in range(0, len(window) - BLOCK + 1, BLOCK):
        header = _known(window[offset : offset + BLOCK])
        if header is None or header.kind not in EXTENSIONS:
            continue
        if first + offset + BLOCK + _padded(header.size) == at:
            return first + offset
    return None


def _known(block: bytes) -> Header | None:
    if block[156:157] not in _KINDS:  # skip the checksum for most data blocks
        return None
    try:
        return header_of(block)
    except DamagedHeaderError:
        return None
