"""Compressed members: read concatenated gzip or bzip2 streams from any byte offset of a file.

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

_MAGIC: dict[MemberKind, bytes] = {"gz": b"\x1f\x8b\x08", "bz2": b"BZh"}
_INPUT_BYTES = 256 * 1024
_STEP_BYTES = 32 * 1024
_SEARCHED_BYTES = 256 * 1024
_OUTPUT_BYTES = 1024 * 1024
_TESTED_BYTES = 4096


class CompressedMember(NamedTuple):
    """One compressed stream. Consume its content before requesting the next member."""

    offset: int
    content: Iterator[bytes]


class DamagedMemberError(Exception):
    """A member is truncated, or its data is corrupt."""


class Members:
    """Iterates over the members of a file that start in a byte range.

    `can_start` returns whether a member's content can start with these bytes.
    """

    def __init__(
        self, file: BinaryIO, kind: MemberKind, can_start: Callable[[bytes], bool]
    ) -> None:
        self._file = file
        self._kind = kind
        self._can_start = can_start
        self._buffer = b""
        self._position = 0  # bytes of _buffer already consumed
        self._start = -1  # file offset of _buffer; -1 is unknown

    def in_range(self, start: int, end: int | None) -> Iterator[CompressedMember]:
        """Yield the members that start in [start, end), continuing after damaged ones."""
        offset = 0 if start == 0 else self._find_member(max(0, start - LOOK_BACK), end)
        while offset is not None and (end is None or offset < end):
            self._seek(offset)
            if self._is_at_end():
                return
            content = self._decompress()
            if offset >= start:
                yield CompressedMember(offset, content)
            offset = self._find_next(content, offset, end)

    def _find_next(self, content: Iterator[bytes], offset: int, end: int | None) -> int | None:
        """Return the offset of the next member; after damage, search for the next valid start."""
        try:
            for _ in content:
                pass
        except DamagedMemberError:
            self._is_damaged = True
        if self._is_damaged:
            return self._find_member(offset + 1, end)
        self._skip_padding()
        return self._start + self._position

    def _decompress(self) -> Iterator[bytes]:
        self._is_damaged = True  # until its end is reached
        decoder = _new_decoder(self._kind)
        data: bytes | memoryview = self._next_input()
        while not decoder.eof:
            try:
                piece = decoder.decompress(data, _OUTPUT_BYTES)
            except _damage_errors() as error:
                raise DamagedMemberError(f"the compressed data is damaged: {error}") from None
            if piece:
                yield piece
            if decoder.eof:
                break
            data = _unconsumed_input(decoder)
            if not data and len(piece) < _OUTPUT_BYTES:
                data = self._next_input()
                if not data:
                    raise DamagedMemberError("the compressed data is truncated")
        self._position -= len(decoder.unused_data)
        self._is_damaged = False

    def _next_input(self) -> memoryview:
        """Return a block large enough for most members, so that they come in one piece."""
        if len(self._buffer) - self._position < _STEP_BYTES:
            self._read_more()
        start, self._position = self._position, min(self._position + _STEP_BYTES, len(self._buffer))
        return memoryview(self._buffer)[start : self._position]

    def _seek(self, offset: int) -> None:
        if offset != self._start + self._position:
            self._file.seek(offset)
            self._buffer, self._position, self._start = b"", 0, offset

    def _is_at_end(self) -> bool:
        return self._position == len(self._buffer) and not self._read_more()

    def _read_more(self) -> bool:
        data = self._file.read(_INPUT_BYTES)
        self._start += self._position
        self._buffer, self._position = self._buffer[self._position :] + data, 0
        return bool(data)

    def _skip_padding(self) -> None:
        """Skip zero padding, as tapes and disks add to fill the last block."""
        while not self._is_at_end():
            if self._buffer[self._position]:
                return
            rest = self._buffer[self._position :].lstrip(b"\0")
            self._position = len(self._buffer) - len(rest)

    def _find_member(self, offset: int, end: int | None) -> int | None:
        """Return the next offset in the range where a valid member starts."""
        magic = _MAGIC[self._kind]
        while end is None or offset < end:
            self._file.seek(offset)
            data = self._file.read(_SEARCHED_BYTES)
            index = data.find(magic)
            while index >= 0:
                if end is not None and offset + index >= end:
                    return None
                if self._starts_member(offset + index):
                    return offset + index
                index = data.find(magic, index + 1)
            if len(data) < _SEARCHED_BYTES:
                return None
            offset += len(data) - len(magic) + 1
        return None

    def _starts_member(self, offset: int) -> bool:
        self._file.seek(offset)
        try:
            beginning = _new_decoder(self._kind).decompress(
                self._file.read(_input_to_test(self._kind)), _TESTED_BYTES
            )
        except _damage_errors():
            return False
        finally:
            self._buffer, self._position, self._start = b"", 0, -1
        return self._can_start(beginning)


def _input_to_test(kind: MemberKind) -> int:
    """Return how many bytes to test. bzip2 needs a whole block (up to 900 kB) before any output."""
    return 1024 * 1024 if kind == "bz2" else _TESTED_BYTES


def _unconsumed_input(decoder: Any) -> bytes:
    """Return the input that a decompressor has not consumed yet; bz2 buffers it internally."""
    return getattr(decoder, "unconsumed_tail", b"")


def _new_decoder(kind: MemberKind) -> Any:
    return bz2.BZ2Decompressor() if kind == "bz2" else _zlib_module().decompressobj(31)


@cache
def _zlib_module() -> Any:
    try:
        return import_module("isal.isal_zlib")
    except ImportError:  # half as fast, same results
        return zlib


@cache
def _damage_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that decompressors raise on damaged data."""
    return OSError, EOFError, ValueError, zlib.error, _zlib_module().error
