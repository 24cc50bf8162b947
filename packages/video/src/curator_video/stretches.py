"""File ranges: read a part of a local or remote file like a file."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from curator_core.errors import InputError, UnavailableError
from curator_core.io.filesystems import StorageOptions, local_path, misanswer, open_input


def open_anywhere(path: str, storage_options: StorageOptions | None = None) -> BinaryIO:
    """Open a file for random access.

    Reads raise a clear error if its server has no range requests.
    """
    file = open_input(path, storage_options)
    return file if local_path(path) is not None else cast(BinaryIO, Distant(file, path))


class Distant(io.RawIOBase):
    """A file on a server. Not all servers support random access."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._telling():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        with self._telling():
            return self._file.read(size)

    def close(self) -> None:
        self._file.close()
        super().close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = misanswer(error)
            raise (
                UnavailableError(f"cannot read {self._path}: {what}") if what else error
            ) from None
        except ValueError as error:
            if "range requests" not in str(error) and "seek streaming" not in str(error):
                raise
            raise InputError(
                f"{self._path} is on a server that gives files from their beginning only (it "
                "answers no range requests), but videos are read here and there; download it first"
            ) from None


class Stretch(io.RawIOBase):
    """A range of an open file, read in place."""

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
