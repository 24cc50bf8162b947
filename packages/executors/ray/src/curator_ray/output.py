"""Output: what stages print in a worker, read from the files that Ray has stdout and stderr go to.

Where Ray does not write them to files (elsewhere than on Linux, or with RAY_LOG_TO_STDERR), there
is nothing to read, and what stages print stays where Ray has it go.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

_MOST_AT_ONCE = 8 << 20
"""Of more, the beginning and the end are kept, with a line about what is left out."""

_OF_RAY = re.compile(rb"^:(?:job_id|actor_name|task_name):.*\n", re.MULTILINE)
"""What Ray writes in between for its own log monitor."""

_TOLD = Struct("<2Q")


@dataclass(frozen=True)
class Files:
    """Where a worker's stdout and stderr go, and up to where they have been read."""

    paths: tuple[str, ...]
    told: tuple[int, ...]

    def rest(self) -> str:
        """What a worker that has died had not told any more."""
        parts = []
        for path, told in zip(self.paths, self.told, strict=True):
            with suppress(OSError), open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                parts.append(_read(file.fileno(), told, size))
        return _text(parts)


class Output:
    """What this process writes to stdout and stderr, whoever writes it, from now on."""

    def __init__(self, mark: Path) -> None:
        """`mark` is the file that says how much was taken, for those who come after its death."""
        self.paths = tuple(dict.fromkeys(path for path in map(_path_of, (1, 2)) if path))
        self._handles = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in self.paths]
        _flush()
        self._taken = [os.fstat(handle).st_size for handle in self._handles]
        self._mark = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._write_mark()

    def take(self, *, is_last: bool = False) -> str:
        """All whole lines that were written since the last time; at last, all."""
        _flush()
        parts = []
        for number, handle in enumerate(self._handles):
            taken, size = self._taken[number], os.fstat(handle).st_size
            if size < taken:  # somebody has emptied it
                taken = 0
            if size > taken:
                part = _read(handle, taken, size)
                kept = len(part) if is_last else part.rfind(b"\n") + 1
                parts.append(part[:kept])
                size -= len(part) - kept
            self._taken[number] = size
        if parts:
            self._write_mark()
        return _text(parts)

    def close(self) -> None:
        for handle in (*self._handles, self._mark):
            os.close(handle)

    def _write_mark(self) -> None:
        os.pwrite(self._mark, _TOLD.pack(*[*self._taken, 0, 0][:2]), 0)


def files_from(paths: Iterable[str], mark: Path) -> Files:
    """The files of a worker on this machine that has died."""
    found = tuple(paths)
    try:
        told = _TOLD.unpack(mark.read_bytes())
    except (OSError, ValueError):
        return Files((), ())
    return Files(found, told[: len(found)])


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stage may have put anything in their place
            stream.flush()


def _path_of(handle: int) -> str:
    with suppress(OSError):
        path = os.readlink(f"/proc/self/fd/{handle}")
        if stat.S_ISREG(os.stat(path).st_mode):
            return path
    return ""


def _read(handle: int, start: int, stop: int) -> bytes:
    if stop - start <= _MOST_AT_ONCE:
        return os.pread(handle, stop - start, start)
    half = _MOST_AT_ONCE // 2
    left_out = f"\n[{stop - start - 2 * half:,} bytes are left out]\n".encode()
    return os.pread(handle, half, start) + left_out + os.pread(handle, half, stop - half)


def _text(parts: Iterable[bytes]) -> str:
    return "".join(_OF_RAY.sub(b"", part).decode(errors="replace") for part in parts)
