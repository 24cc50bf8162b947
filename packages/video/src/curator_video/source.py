"""Video sources: bytes in a file, in an object store, or in memory, read in place."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from curator_core.errors import InputError, UnavailableError
from curator_core.io.filesystems import (
    StorageOptions,
    describe_server_error,
    local_path,
    open_input,
)


@dataclass(frozen=True)
class ShardMember:
    """The shard that contains a video, and the offset of its first byte."""

    path: str
    start: int


@dataclass(frozen=True)
class VideoSource:
    """A file that is read in place, or bytes that were read from `path`.

    `storage_options` are passed to every stage that opens the file, but never saved: a retry takes
    them from the environment.
    """

    path: str
    size: int = 0
    version: str = ""
    content: bytes | None = field(default=None, repr=False)
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    shard_member: ShardMember | None = None
    """Where the video is inside a shard, if it is."""

    @property
    def held_bytes(self) -> int:
        """Bytes held in memory; 0 for a file."""
        return 0 if self.content is None else len(self.content)


def open_seekable(path: str, storage_options: StorageOptions | None = None) -> BinaryIO:
    """Open a file for random access; reads raise InputError if its server does not support it."""
    file = open_input(path, storage_options)
    return file if local_path(path) is not None else cast(BinaryIO, RemoteFile(file, path))


class RemoteFile(io.RawIOBase):
    """A file on a server. Not all servers support random access."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._explain_errors():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        with self._explain_errors():
            return self._file.read(size)

    def close(self) -> None:
        self._file.close()
        super().close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = describe_server_error(error)
            raise (
                UnavailableError(f"cannot read {self._path}: {problem}") if problem else error
            ) from None
        except ValueError as error:
            if "range requests" not in str(error) and "seek streaming" not in str(error):
                raise
            raise InputError(
                f"{self._path} is on a server without range requests, but reading a video needs "
                "random access; download it first"
            ) from None


class FileRange(io.RawIOBase):
    """A range of an open file, read in place."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        remaining = max(0, self._size - self._position)
        self._file.seek(self._start + self._position)
        content = self._file.read(remaining if size is None or size < 0 else min(size, remaining))
        self._position += len(content)
        return content
