"""Contents: a shard as something to cut slices out of, wherever it lies.

Slices are asked for in ascending order, give or take some kilobytes; behind the end they are short.
"""

import io
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol

from curator_core.compression import DamagedStreamError, compression_of, decompressed
from curator_core.errors import InputError
from curator_core.files import FilePart
from curator_core.filesystems import StorageOptions, local_path, open_input

_CHUNK = 2 * 1024 * 1024


class Content(Protocol):
    def cut(self, start: int, end: int) -> bytes:
        """Some bytes, copied."""

    def view(self, start: int, end: int) -> bytes | memoryview:
        """Some bytes, perhaps where they lie: good for as long as somebody holds on to them."""


class MappedContent:
    """A local file, mapped: what is not looked at is not read, and nothing is copied to look."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped
        self._viewed = memoryview(mapped)

    def cut(self, start: int, end: int) -> bytes:
        return self._mapped[start:end]

    def view(self, start: int, end: int) -> memoryview:
        return self._viewed[start:end]


class RemoteContent:
    """A file of an object store, read in large pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = 0
        self._held = b""

    def cut(self, start: int, end: int) -> bytes:
        at = start - self._start
        if at < 0 or end - self._start > len(self._held):
            self._read(start, end)
            at = 0
        return self._held[at : at + end - start]

    view = cut

    def _read(self, start: int, end: int) -> None:
        is_behind = self._start <= start <= self._start + len(self._held)
        kept = self._held[start - self._start :] if is_behind else b""
        self._file.seek(start + len(kept))
        pieces = [kept]
        missing = max(_CHUNK, end - start) - len(kept)
        while missing > 0 and (piece := self._file.read(missing)):
            pieces.append(piece)
            missing -= len(piece)
        self._start, self._held = start, b"".join(pieces)


class StreamedContent:
    """A compressed file, whose bytes come one after the other."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._start = 0
        self._held = bytearray()
        self.damage: DamagedStreamError | None = None

    def cut(self, start: int, end: int) -> bytes:
        while self._start + len(self._held) < end:
            try:
                chunk = next(self._chunks, b"")
            except DamagedStreamError as error:
                self.damage, chunk = error, b""
            if not chunk:
                break
            passed = start - self._start - 2 * _CHUNK
            if passed > _CHUNK:
                del self._held[:passed]
                self._start += passed
            self._held += chunk
        return bytes(self._held[max(0, start - self._start) : end - self._start])

    view = cut


@contextmanager
def content_of(part: FilePart, storage_options: StorageOptions | None) -> Iterator[Content]:
    """The whole file that a part is of."""
    kind = compression_of(part.path.removesuffix(".tgz") + ".gz" if _is_tgz(part) else part.path)
    if kind is not None:
        yield StreamedContent(decompressed(lambda: open_input(part.path, storage_options), kind))
        return
    with open_input(part.path, storage_options) as file:
        if local_path(part.path) is None:
            yield RemoteContent(file)
            return
        if not file.seek(0, io.SEEK_END):
            raise InputError(f"cannot read {part.path}: the file is empty")
        # Not closed here: it lasts for as long as somebody looks at a part of it.
        yield MappedContent(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _is_tgz(part: FilePart) -> bool:
    return part.path.lower().endswith(".tgz")
