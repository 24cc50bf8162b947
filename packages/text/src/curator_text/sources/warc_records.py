"""WARC records: find each record exactly once in web archives, even in damaged ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from curator_core import InputError

from curator_text.sources.members import LOOK_BACK, DamagedMemberError, Member, Members
from curator_text.sources.streams import Stream

_END = b"\r\n\r\n"
_HEADER_BYTES = 64 * 1024
_INPUT_BYTES = 256 * 1024
_MARK = b"\r\n\r\nWARC/"
_SHOWN = 60


class WarcRecord(NamedTuple):
    """One record. Its content is None if it is larger than allowed."""

    offset: int
    headers: dict[str, str]
    content: memoryview | None
    size: int


@dataclass(frozen=True)
class Damage:
    """A damaged place in a file."""

    offset: int
    reason: str


class _DamagedRecordError(Exception):
    """A record violates the format."""


def warc_records(
    file: BinaryIO, start: int, end: int | None, most: int
) -> Iterator[WarcRecord | Damage]:
    """Yield the records that start in a range of a file, with content of at most `most` bytes each.

    For a compressed file, the range counts compressed bytes, and a record starts where its member
    does.
    """
    file.seek(0)
    sign = file.read(16)
    if sign.startswith(b"\x1f\x8b"):
        for member in Members(file, "gz", _begins_record).in_range(start, end):
            yield from _of_member(member, most)
    elif sign.startswith(b"WARC/"):
        yield from _of_plain(file, start, end, most)
    elif sign and start == 0:
        raise InputError(_foreign(sign))


def _begins_record(data: bytes) -> bool:
    return data.startswith(b"WARC/")


def _foreign(sign: bytes) -> str:
    if sign.startswith(b"\x28\xb5\x2f\xfd"):
        return "it is zstd data; repack it as .warc.gz, one gzip member for each record"
    if sign.lstrip().startswith(b"<"):
        return "it begins like HTML or XML, not like a WARC file; was an error page downloaded?"
    return f"it is no WARC file: it begins with {sign!r}"


def _of_member(member: Member, most: int) -> Iterator[WarcRecord | Damage]:
    stream = Stream(member.content)
    try:
        while not stream.is_over():
            yield _record(stream, member.offset, most)
    except (DamagedMemberError, _DamagedRecordError) as error:
        yield Damage(member.offset, str(error))


def _of_plain(
    file: BinaryIO, start: int, end: int | None, most: int
) -> Iterator[WarcRecord | Damage]:
    offset = 0 if start == 0 else _next_mark(file, max(0, start - LOOK_BACK), end)
    while offset is not None:
        file.seek(offset)
        stream, base = Stream(iter(lambda: file.read(_INPUT_BYTES), b"")), offset
        while not stream.is_over():
            offset = base + stream.taken
            if end is not None and offset >= end:
                return
            try:
                record = _record(stream, offset, most if offset >= start else 0)
            except _DamagedRecordError as error:
                if offset >= start:
                    yield Damage(offset, str(error))
                offset = _next_mark(file, offset + 1, end)
                break
            if offset >= start:
                yield record
        else:
            return


def _next_mark(file: BinaryIO, offset: int, end: int | None) -> int | None:
    """Return the offset where the next record of an uncompressed file seems to start."""
    offset = max(0, offset - len(_END))
    while end is None or offset < end:
        file.seek(offset)
        data = file.read(_INPUT_BYTES)
        place = data.find(_MARK)
        if place >= 0:
            found = offset + place + len(_END)
            return found if end is None or found < end else None
        if len(data) < _INPUT_BYTES:
            return None
        offset += len(data) - len(_MARK) + 1
    return None


def _record(stream: Stream, offset: int, most: int) -> WarcRecord:
    """Read the next record and check that it ends where its length says."""
    head = stream.take_to(_END, _HEADER_BYTES)
    if head is None or not head.startswith(b"WARC/"):
        raise _DamagedRecordError(_headless(head if head is not None else stream.peek(_SHOWN)))
    headers = _headers_of(head)
    size = _length(headers)
    content = stream.take(size) if size <= most else None
    there = stream.skip(size) if content is None else len(content)
    if there < size:
        raise _DamagedRecordError(
            f"the record ends too early: {there} of its {size} bytes are there"
        )
    if not (stream.take_mark(_END) or stream.is_over()):
        raise _DamagedRecordError(f"the record does not end behind its {size} bytes")
    return WarcRecord(offset, headers, content, size)


def _headless(beginning: bytes) -> str:
    if beginning.startswith(b"WARC/"):
        return "the header of a record does not end"
    return f"no record begins here, but {beginning[:_SHOWN]!r}"


def _headers_of(head: bytes) -> dict[str, str]:
    """Parse a header; names in lower case. The first of several with one name counts."""
    lines = [line.partition(":") for line in head.decode("utf-8", "replace").split("\n")]
    return {name.rstrip().lower(): value.strip() for name, _, value in reversed(lines)}


def _length(headers: dict[str, str]) -> int:
    given = headers.get("content-length", "")
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise _DamagedRecordError(f"the record has no length, but {given!r:.60}")
    return int(given)
