"""Lines: read a file, or a range of it, as blocks of whole lines."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

from curator_core.io.compression import DamagedStreamError

PIECE_BYTES = 512 * 1024
"""Bytes parsed at once: small enough to stay in the processor's cache."""

MAX_LINE_BYTES = 256 * 1024 * 1024

_SHOWN_OF_LONG = 64 * 1024


class Lines(NamedTuple):
    """Consecutive whole lines, and their offset in the file.

    If a line is too long, only its beginning is in `data`, without other lines.
    """

    data: bytes
    offset: int = 0
    too_long: bool = False


def lines_in_range(file: BinaryIO, start: int, end: int | None) -> Iterator[Lines]:
    """Yield the lines that start within a range; the last line may extend beyond it."""
    first = _first_line(file, start, end)
    if first is not None:
        yield from whole_lines(_chunks(file, first, end), first)


def whole_lines(chunks: Iterable[bytes], offset: int = 0) -> Iterator[Lines]:
    """Join chunks that end anywhere into blocks of whole lines."""
    held: list[bytes] = []  # beginning of a line whose end has not been read yet
    size = 0
    damage = _Damage()
    for chunk in damage.kept_from(chunks):
        fresh = chunk
        if size > MAX_LINE_BYTES:
            end = chunk.find(b"\n") + 1
            size += end or len(chunk)
            if not end:
                continue
            yield _too_long(held, offset)
            offset, held, size, fresh = offset + size, [], 0, chunk[end:]
        cut = fresh.rfind(b"\n") + 1
        if cut:
            lines = b"".join((*held, memoryview(fresh)[:cut]))  # one copy, not two
            yield Lines(lines, offset)
            offset, held, size, fresh = offset + len(lines), [], 0, fresh[cut:]
        if fresh:
            size += len(fresh)
            held = [*held, fresh] if size <= MAX_LINE_BYTES else held[:1] or [fresh]
    if size:
        yield _too_long(held, offset) if size > MAX_LINE_BYTES else Lines(b"".join(held), offset)
    damage.tell()


class _Damage:
    """Hold an error back until the lines before it have been yielded."""

    def __init__(self) -> None:
        self._error: DamagedStreamError | None = None

    def kept_from(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        try:
            yield from chunks
        except DamagedStreamError as error:
            self._error = error

    def tell(self) -> None:
        if self._error is not None:
            raise self._error


def _too_long(held: list[bytes], offset: int) -> Lines:
    return Lines(held[0][:_SHOWN_OF_LONG], offset, too_long=True)


def _first_line(file: BinaryIO, start: int, end: int | None) -> int | None:
    """Return where the first line of a range starts: after a line end from `start - 1` on."""
    if start == 0:
        return 0
    position = start - 1
    file.seek(position)
    while end is None or position < end:
        chunk = file.read(PIECE_BYTES)
        found = chunk.find(b"\n")
        if found >= 0:
            first = position + found + 1
            return first if end is None or first < end else None
        if not chunk:
            break
        position += len(chunk)
    return None


def _chunks(file: BinaryIO, position: int, end: int | None) -> Iterator[bytes]:
    file.seek(position)
    chunk = b"\n"
    while end is None or position < end:
        chunk = file.read(PIECE_BYTES if end is None else min(PIECE_BYTES, end - position))
        if not chunk:
            return
        position += len(chunk)
        yield chunk
    if not chunk.endswith(b"\n"):
        yield from _rest_of_line(file)


def _rest_of_line(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(PIECE_BYTES):
        found = chunk.find(b"\n")
        if found >= 0:
            yield chunk[: found + 1]
            return
        yield chunk
