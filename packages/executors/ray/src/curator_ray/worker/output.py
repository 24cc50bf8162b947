"""What workers log and print, on its way to the driver.

Printed output is read from the files to which Ray redirects stdout and stderr. Where Ray does not
(outside Linux, or with RAY_LOG_TO_STDERR), it is not collected.
"""

import logging
import os
import re
import stat
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MAX_LINES_PER_CALL = 50
_MAX_REPEATS = 3
_IGNORED_LOGGERS = ("ray",)

_MAX_BYTES_AT_ONCE = 8 << 20
"""Of more output, the beginning and the end are kept, with a line about what is left out."""

_RAY_MARKERS = re.compile(rb"^:(?:job_id|actor_name|task_name):.*\n", re.MULTILINE)
"""Lines that Ray adds for its own log monitor."""

_OFFSETS = struct.Struct("<2Q")


@dataclass(frozen=True)
class LogLine:
    """A warning or an error of a worker."""

    logger: str
    level: int
    message: str
    template: str
    """The message before formatting: lines with one template are repeats."""


class LogCapture(logging.Handler):
    """Keeps the warnings and errors of a worker until its next result takes them along."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: list[LogLine] = []

    def install(self) -> None:
        logging.captureWarnings(True)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(_IGNORED_LOGGERS) or len(self._lines) >= _MAX_LINES_PER_CALL:
            return
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a wrong format string is no reason to lose the line
            message = str(record.msg)
        self._lines.append(LogLine(record.name, record.levelno, message, str(record.msg)))

    def take(self) -> tuple[LogLine, ...]:
        lines, self._lines = tuple(self._lines), []
        return lines


class LogRelay:
    """Logs the lines of workers in the driver; repeats only a few times."""

    def __init__(self, add_output: Callable[[str, str], None]) -> None:
        """`add_output` is called with a worker's id and what it printed."""
        self._add_output = add_output
        self._counts: dict[tuple[str, str], int] = {}

    def forward(self, worker: str, lines: Iterable[LogLine], output: str) -> None:
        self._add_output(worker, output)
        for line in lines:
            key = (line.logger, line.template)
            count = self._counts[key] = self._counts.get(key, 0) + 1
            if count > _MAX_REPEATS:
                continue
            more = " (more like this will not be shown)" if count == _MAX_REPEATS else ""
            logging.getLogger(line.logger).log(
                line.level, "worker %s: %s%s", worker, line.message, more
            )


@dataclass(frozen=True)
class OutputFiles:
    """The files of a worker's stdout and stderr, and how far they have been reported."""

    paths: tuple[str, ...]
    reported: tuple[int, ...]

    def rest(self) -> str:
        """Return what a dead worker had not reported."""
        parts = []
        for path, start in zip(self.paths, self.reported, strict=True):
            with suppress(OSError), open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                parts.append(_read(file.fileno(), start, size))
        return _text(parts)


class CapturedOutput:
    """What this process writes to stdout and stderr from now on, from Python or from C."""

    def __init__(self, mark: Path) -> None:
        """Record in the file `mark` how much was taken, to be read if this process dies."""
        self.paths = tuple(dict.fromkeys(path for path in map(_path_of, (1, 2)) if path))
        self._handles = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in self.paths]
        _flush()
        self._taken = [os.fstat(handle).st_size for handle in self._handles]
        self._mark = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._write_mark()

    def take(self, *, is_last: bool = False) -> str:
        """Return the whole lines written since the previous call; if `is_last`, everything."""
        _flush()
        parts = []
        for number, handle in enumerate(self._handles):
            taken, size = self._taken[number], os.fstat(handle).st_size
            if size < taken:  # the file was truncated
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
        os.pwrite(self._mark, _OFFSETS.pack(*[*self._taken, 0, 0][:2]), 0)


def output_files(paths: Iterable[str], mark: Path) -> OutputFiles:
    """Return the output files of a dead worker on this machine."""
    found = tuple(paths)
    try:
        reported = _OFFSETS.unpack(mark.read_bytes())
    except (OSError, struct.error):
        return OutputFiles((), ())
    return OutputFiles(found, reported[: len(found)])


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stage may have replaced them by anything
            stream.flush()


def _path_of(handle: int) -> str:
    with suppress(OSError):
        path = os.readlink(f"/proc/self/fd/{handle}")
        if stat.S_ISREG(os.stat(path).st_mode):
            return path
    return ""


def _read(handle: int, start: int, stop: int) -> bytes:
    if stop - start <= _MAX_BYTES_AT_ONCE:
        return os.pread(handle, stop - start, start)
    half = _MAX_BYTES_AT_ONCE // 2
    left_out = f"\n[{stop - start - 2 * half:,} bytes are left out]\n".encode()
    return os.pread(handle, half, start) + left_out + os.pread(handle, half, stop - half)


def _text(parts: Iterable[bytes]) -> str:
    return "".join(_RAY_MARKERS.sub(b"", part).decode(errors="replace") for part in parts)
