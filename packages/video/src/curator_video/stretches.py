"""Stretches: a part of a file that can be read as if it were one itself."""

import io
from typing import BinaryIO


class Stretch(io.RawIOBase):
    """Some bytes of an open file, from `start` on; they stay where they are."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._at)
        self._file.seek(self._start + self._at)
        content = self._file.read(left if size is None or size < 0 else min(size, left))
        self._at += len(content)
        return content
