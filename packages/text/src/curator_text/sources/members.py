"""Members: read files of concatenated gzip or bzip2 streams from any byte offset.

Crawls and encyclopedias are published as thousands of compressed streams in one file. Member starts
can be recognized, so a file can be split at any byte, and a damaged member does not affect the
others.
"""

import bz2
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

MemberKind: TypeAlias = Literal["gz", "bz2"]

LOOK_BACK = 1024 * 1024
"""Bytes to look back before a range, because a member header may be data inside a stored member."""

_MARKS: dict[MemberKind, bytes] = {"gz": b"\x1f\x8b\x08", "bz2": b"BZh"}
_INPUT_BYTES = 256 * 1024
_STEP_BYTES = 32 * 1024
_SEARCHED_BYTES = 256 * 1024
_OUTPUT_BYTES = 1024 * 1024
_SHOWN_BYTES = 4096


class Member(NamedTuple):
    """One compressed stream. Consume its content before requesting the next member."""

    offset: int
    content: Iterator[bytes]


class DamagedMemberError(Exception):
    """A member is truncated, or its data is corrupt."""


class Members:
    """Iterates over the members of a file that start in a byte range.

    `begins` checks the first decompressed bytes and says whether they can start a member's content.
    """

    def __init__(self, file: BinaryIO, kind: MemberKind, begins: Callable[[bytes], bool]) -> None:
        self._file = file
        self._kind = kind
        self._begins = begins
        self._held = b""
        self._at = 0  # bytes of _held already consumed
        self._start = -1  # file offset of _held; -1 is unknown

    def in_range(self, start: int, end: int | None) -> Iterator[Member]:
        """Yield the members that start in [start, end), continuing after damaged ones."""
        offset = 0 if start == 0 else self._next_mark(max(0, start - LOOK_BACK), end)
        while offset is not None and (end is None or offset < end):
            self._go_to(offset)
            if self._at_end():
                return
            content = self._content()
            if offset >= start:
                yield Member(offset, content)
            offset = self._past(content, offset, end)

    def _past(self, content: Iterator[bytes], offset: int, end: int | None) -> int | None:
        """Return the offset of the next member; after damage, search for the next valid start."""
        try:
            for _ in content:
                pass
        except DamagedMemberError:
            self._is_damaged = True
        if self._is_damaged:
            return self._next_mark(offset + 1, end)
        self._skip_padding()
        return self._start + self._at

    def _content(self) -> Iterator[bytes]:
        self._is_damaged = True  # until its end is reached
        decoder = _new_decoder(self._kind)
        data: bytes | memoryview = self._input()
        while not decoder.eof:
            try:
                piece = decoder.decompress(data, _OUTPUT_BYTES)
            except _errors() as error:
                raise DamagedMemberError(f"the compressed data is damaged: {error}") from None
            if piece:
                yield piece
            if decoder.eof:
                break
            data = _left_of(decoder)
            if not data and len(piece) < _OUTPUT_BYTES:
                data = self._input()
                if not data:
                    raise DamagedMemberError("the compressed data ends too early")
        self._at -= len(decoder.unused_data)
        self._is_damaged = False

    def _input(self) -> memoryview:
        """Return a block large enough for most members, so that they come in one piece."""
        if len(self._held) - self._at < _STEP_BYTES:
            self._read_on()
        start, self._at = self._at, min(self._at + _STEP_BYTES, len(self._held))
        return memoryview(self._held)[start : self._at]

    def _go_to(self, offset: int) -> None:
        if offset != self._start + self._at:
            self._file.seek(offset)
            self._held, self._at, self._start = b"", 0, offset

    def _at_end(self) -> bool:
        return self._at == len(self._held) and not self._read_on()

    def _read_on(self) -> bool:
        data = self._file.read(_INPUT_BYTES)
        self._start += self._at
        self._held, self._at = self._held[self._at :] + data, 0
        return bool(data)

    def _skip_padding(self) -> None:
        """Skip zero padding, as tapes and disks add to fill the last block."""
        while not self._at_end():
            if self._held[self._at]:
                return
            left = self._held[self._at :].lstrip(b"\0")
            self._at = len(self._held) - len(left)

    def _next_mark(self, offset: int, end: int | None) -> int | None:
        """Return the next offset in the range where a valid member starts."""
        mark = _MARKS[self._kind]
        while end is None or offset < end:
            self._file.seek(offset)
            data = self._file.read(_SEARCHED_BYTES)
            place = data.find(mark)
            while place >= 0:
                if end is not None and offset + place >= end:
                    return None
                if self._is_member(offset + place):
                    return offset + place
                place = data.find(mark, place + 1)
            if len(data) < _SEARCHED_BYTES:
                return None
            offset += len(data) - len(mark) + 1
        return None

    def _is_member(self, offset: int) -> bool:
        self._file.seek(offset)
        try:
            beginning = _new_decoder(self._kind).decompress(
                self._file.read(_first_input(self._kind)), _SHOWN_BYTES
            )
        except _errors():
            return False
        finally:
            self._held, self._at, self._start = b"", 0, -1
        return self._begins(beginning)


def _first_input(kind: MemberKind) -> int:
    """Return how many bytes to test. bzip2 needs a whole block (up to 900 kB) before any output."""
    return 1024 * 1024 if kind == "bz2" else _SHOWN_BYTES


def _left_of(decoder: Any) -> bytes:
    """Return the input that a decompressor has not consumed yet; bz2 buffers it internally."""
    return getattr(decoder, "unconsumed_tail", b"")


def _new_decoder(kind: MemberKind) -> Any:
    return bz2.BZ2Decompressor() if kind == "bz2" else _inflating().decompressobj(31)


@cache
def _inflating() -> Any:
    try:
        return import_module("isal.isal_zlib")
    except ImportError:  # half as fast, same results
        return zlib


@cache
def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that decompressors raise on damaged data."""
    return OSError, EOFError, ValueError, zlib.error, _inflating().error
