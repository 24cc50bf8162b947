"""Shard contents: read slices of a shard from local, remote or compressed files.

Slices must be requested in ascending order, within some kilobytes. At the end of the file they are
shorter.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol

from curator_core import FilePart
from curator_core.errors import InputError
from curator_core.io.compression import DamagedStreamError, compression_of, decompress
from curator_core.io.filesystems import StorageOptions, local_path, open_input

from curator_image.file_formats import SIGNATURE_BYTES
from curator_image.samples import CAN_SLICE_FILES, MIN_SLICE_BYTES, FileSlice, OpenFile

_CHUNK = 2 * 1024 * 1024
_MIN_STEP, _MAX_STEP = 4096, 256 * 1024


class ShardContent(Protocol):
    def read(self, start: int, end: int) -> bytes:
        """Return a copy of some bytes."""

    def view(self, start: int, end: int) -> bytes | FileSlice:
        """Return some bytes, or an extent to read them from later."""


class LocalContent:
    """A local file. Small slices are read with their surroundings, large ones are skipped."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._start = self._end = 0
        self._held = b""
        self._step = _MIN_STEP

    def read(self, start: int, end: int) -> bytes:
        if start < self._start or end > self._end:
            self._read(start, end)
        return self._held[start - self._start : end - self._start]

    def view(self, start: int, end: int) -> bytes | FileSlice:
        if end - start < MIN_SLICE_BYTES or not CAN_SLICE_FILES:
            return self.read(start, end)
        size = max(0, min(end, self._file.size) - start)
        return FileSlice(self._file, start, size, self.read(start, start + SIGNATURE_BYTES))

    def _read(self, start: int, end: int) -> None:
        """Read ahead more if slices follow each other, and little after a skipped large one."""
        follows = self._start <= start < self._end + MIN_SLICE_BYTES
        self._step = min(2 * self._step, _MAX_STEP) if follows else _MIN_STEP
        self._held = self._file.read(start, max(self._step, end - start))
        self._start, self._end = start, start + len(self._held)


class RemoteContent:
    """A file in an object store, read in large pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = 0
        self._held = b""

    def read(self, start: int, end: int) -> bytes:
        at = start - self._start
        if at < 0 or end - self._start > len(self._held):
            self._read(start, end)
            at = 0
        return self._held[at : at + end - start]

    view = read

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
    """A compressed file, decompressed sequentially."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._start = 0
        self._held = bytearray()
        self.damage: DamagedStreamError | None = None

    def read(self, start: int, end: int) -> bytes:
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

    view = read


@contextmanager
def open_content(part: FilePart, storage_options: StorageOptions | None) -> Iterator[ShardContent]:
    """Open the whole file that a part belongs to."""
    kind = compression_of(part.path.removesuffix(".tgz") + ".gz" if _is_tgz(part) else part.path)
    if kind is not None:
        yield StreamedContent(decompress(lambda: open_input(part.path, storage_options), kind))
        return
    with open_input(part.path, storage_options) as file:
        if local_path(part.path) is None:
            yield RemoteContent(file)
            return
        if not file.seek(0, io.SEEK_END):
            raise InputError(f"cannot read {part.path}: the file is empty")
        yield LocalContent(OpenFile(file, part.path))


def _is_tgz(part: FilePart) -> bool:
    return part.path.lower().endswith(".tgz")
