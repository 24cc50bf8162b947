"""Extents: large parts of a local file, read directly into their destination when copied."""

import os
from typing import BinaryIO

from curator_core.errors import InputError

LEAST_BYTES = 32 * 1024
"""Smaller parts are read along with their surroundings."""

ARE_POSSIBLE = hasattr(os, "preadv")


class OpenFile:
    """A local file that stays open while it is referenced."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._number = os.dup(file.fileno())
        self._name = name
        self.size = os.fstat(self._number).st_size

    def __del__(self, close=os.close) -> None:  # type: ignore[no-untyped-def]  # outlives os
        close(self._number)

    def read(self, start: int, size: int) -> bytes:
        """Read `size` bytes, or fewer at the end of the file."""
        return os.pread(self._number, size, start)

    def read_all(self, start: int, size: int) -> bytes:
        data = self.read(start, size)
        self._check(len(data), size)
        return data

    def read_into(self, room: memoryview, start: int) -> None:
        self._check(os.preadv(self._number, [room], start), len(room))

    def _check(self, found: int, wanted: int) -> None:
        if found < wanted:
            raise InputError(f"{self._name} has become shorter while it was read")


class Extent:
    """A range of bytes in a file; its first bytes are already known."""

    __slots__ = ("_at", "_file", "_size", "head")

    def __init__(self, file: OpenFile, at: int, size: int, head: bytes) -> None:
        self._file = file
        self._at = at
        self._size = size
        self.head = head

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return self._file.read_all(self._at, self._size)

    def read_into(self, room: memoryview) -> None:
        self._file.read_into(room, self._at)
