"""WARC records: find each record exactly once in web archives, even in damaged ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from curator_core import InputError

from curator_text.readers.compressed_members import (
    LOOK_BACK,
    CompressedMember,
    DamagedMemberError,
    Members,
)


class ByteStream:
    """A byte stream that arrives in pieces. `consumed` counts the bytes consumed so far."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._data = b""
        self._position = 0
        self._consumed = 0

    @property
    def consumed(self) -> int:
        return self._consumed + self._position

    def is_at_end(self) -> bool:
        return self._position == len(self._data) and not self._read_more()

    def read(self, size: int) -> memoryview:
        """Return the next `size` bytes, or fewer at the end, without copying."""
        self._fill(size)
        start, self._position = self._position, min(self._position + size, len(self._data))
        return memoryview(self._data)[start : self._position]

    def skip_if_next(self, delimiter: bytes) -> bool:
        """Consume `delimiter` if it comes next; return whether it did."""
        self._fill(len(delimiter))
        is_next = self._data.startswith(delimiter, self._position)
        if is_next:
            self._position += len(delimiter)
        return is_next

    def peek(self, size: int) -> bytes:
        self._fill(size)
        return self._data[self._position : self._position + size]

    def read_until(self, delimiter: bytes, max_bytes: int) -> bytes | None:
        """Return the bytes before `delimiter` and consume both; None if beyond `max_bytes`."""
        searched = self._position
        while True:
            index = self._data.find(delimiter, searched, self._position + max_bytes)
            if index >= 0:
                start, self._position = self._position, index + len(delimiter)
                return self._data[start:index]
            available = len(self._data) - self._position
            if available >= max_bytes:
                return None
            if not self._read_more():
                return None
            searched = max(self._position, self._position + available - len(delimiter) + 1)

    def skip(self, size: int) -> int:
        """Skip `size` bytes; return how many were skipped."""
        left = size
        while True:
            step = min(left, len(self._data) - self._position)
            self._position += step
            left -= step
            if not left or not self._read_more():
                return size - left

    def _fill(self, size: int) -> None:
        while len(self._data) - self._position < size and self._read_more():
            pass

    def _read_more(self) -> bool:
        """Append the next piece and free consumed data."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._consumed += self._position
        self._data = self._data[self._position :] + piece
        self._position = 0
        return True


_END = b"\r\n\r\n"
_HEADER_BYTES = 64 * 1024
_INPUT_BYTES = 256 * 1024
_RECORD_START = b"\r\n\r\nWARC/"
_SHOWN_BYTES = 60


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
    file: BinaryIO, start: int, end: int | None, max_bytes: int
) -> Iterator[WarcRecord | Damage]:
    """Yield the records that start in a range of a file.

    The content of records larger than `max_bytes` is None.

    For a compressed file, the range counts compressed bytes, and a record starts where its member
    does.
    """
    file.seek(0)
    magic = file.read(16)
    if magic.startswith(b"\x1f\x8b"):
        for member in Members(file, "gz", _starts_record).in_range(start, end):
            yield from _records_in_member(member, max_bytes)
    elif magic.startswith(b"WARC/"):
        yield from _records_in_plain_file(file, start, end, max_bytes)
    elif magic and start == 0:
        raise InputError(_describe_other_file(magic))


def _starts_record(data: bytes) -> bool:
    return data.startswith(b"WARC/")


def _describe_other_file(magic: bytes) -> str:
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return "it is zstd data; repack it as .warc.gz with one gzip member per record"
    if magic.lstrip().startswith(b"<"):
        return "it starts like HTML or XML, not like a WARC file; is it a downloaded error page?"
    return f"it is not a WARC file: it starts with {magic!r}"


def _records_in_member(member: CompressedMember, max_bytes: int) -> Iterator[WarcRecord | Damage]:
    stream = ByteStream(member.content)
    try:
        while not stream.is_at_end():
            yield _read_record(stream, member.offset, max_bytes)
    except (DamagedMemberError, _DamagedRecordError) as error:
        yield Damage(member.offset, str(error))


def _records_in_plain_file(
    file: BinaryIO, start: int, end: int | None, max_bytes: int
) -> Iterator[WarcRecord | Damage]:
    offset = 0 if start == 0 else _find_record(file, max(0, start - LOOK_BACK), end)
    while offset is not None:
        file.seek(offset)
        stream, base = ByteStream(iter(lambda: file.read(_INPUT_BYTES), b"")), offset
        while not stream.is_at_end():
            offset = base + stream.consumed
            if end is not None and offset >= end:
                return
            try:
                record = _read_record(stream, offset, max_bytes if offset >= start else 0)
            except _DamagedRecordError as error:
                if offset >= start:
                    yield Damage(offset, str(error))
                offset = _find_record(file, offset + 1, end)
                break
            if offset >= start:
                yield record
        else:
            return


def _find_record(file: BinaryIO, offset: int, end: int | None) -> int | None:
    """Return the offset where the next record of an uncompressed file seems to start."""
    offset = max(0, offset - len(_END))
    while end is None or offset < end:
        file.seek(offset)
        data = file.read(_INPUT_BYTES)
        index = data.find(_RECORD_START)
        if index >= 0:
            found = offset + index + len(_END)
            return found if end is None or found < end else None
        if len(data) < _INPUT_BYTES:
            return None
        offset += len(data) - len(_RECORD_START) + 1
    return None


def _read_record(stream: ByteStream, offset: int, max_bytes: int) -> WarcRecord:
    """Read the next record and check that it ends where its length says."""
    head = stream.read_until(_END, _HEADER_BYTES)
    if head is None or not head.startswith(b"WARC/"):
        raise _DamagedRecordError(
            _describe_missing_header(head if head is not None else stream.peek(_SHOWN_BYTES))
        )
    headers = _parse_headers(head)
    size = _content_length(headers)
    content = stream.read(size) if size <= max_bytes else None
    received = stream.skip(size) if content is None else len(content)
    if received < size:
        raise _DamagedRecordError(f"the record is truncated: it has {received} of {size} bytes")
    if not (stream.skip_if_next(_END) or stream.is_at_end()):
        raise _DamagedRecordError(f"the record does not end after its {size} bytes")
    return WarcRecord(offset, headers, content, size)


def _describe_missing_header(beginning: bytes) -> str:
    if beginning.startswith(b"WARC/"):
        return "the header of a record does not end"
    return f"no record starts here, but {beginning[:_SHOWN_BYTES]!r}"


def _parse_headers(head: bytes) -> dict[str, str]:
    """Parse a header; names in lower case. The first of several values counts."""
    lines = [line.partition(":") for line in head.decode("utf-8", "replace").split("\n")]
    return {name.rstrip().lower(): value.strip() for name, _, value in reversed(lines)}


def _content_length(headers: dict[str, str]) -> int:
    value = headers.get("content-length", "")
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise _DamagedRecordError(f"the record has no valid length: {value!r:.60}")
    return int(value)
