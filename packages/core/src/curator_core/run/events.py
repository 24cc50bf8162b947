"""Event log of a run: events in order, for people and programs that monitor it."""

import os
import time
from contextlib import suppress
from typing import Any

from curator_core.io.atomic_write import explained
from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.model.secrets import redact
from curator_core.model.snapshot import Pulse
from curator_core.plan.events import Event
from curator_core.run.journal import to_line
from curator_core.run.permissions import open_run_file


class Thinning:
    """Selects the pulses to keep: one per second at first, fewer as the run gets longer."""

    def __init__(self) -> None:
        self._next = 0.0

    def takes(self, pulse: Pulse) -> bool:
        if pulse.seconds < self._next and pulse.status == "running":
            return False
        self._next = pulse.seconds + max(_KEPT_EVERY_S, pulse.seconds / _KEPT_OF_EACH_SPAN)
        return True


_KEPT_EVERY_S = 1.0
_KEPT_OF_EACH_SPAN = 100
"""Doubling the duration of a run adds about 70 pulses."""


FILE, FOLDER = "events.jsonl", "events"


class EventFile:
    """Writes events as JSON lines; in parts on an object store, which cannot append."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        fs, path = open_filesystem(run_dir, storage_options)
        self._path = join(path, FILE if is_local(fs) else FOLDER)
        self._lines = _Appended(self._path) if is_local(fs) else _Parts(fs, self._path)
        self._thinning = Thinning()

    def __call__(self, event: Event) -> None:
        if "pulse" in event:
            if self._thinning.takes(event["pulse"]):
                with suppress(OSError):  # on a full disk, the write of actual data ends the run
                    self._write(to_line({**event, "pulse": event["pulse"].in_short()}))
            return
        with explained(self._path):
            self._write(redact(to_line(event).decode()).encode())

    def _write(self, line: bytes) -> None:
        self._lines.write(line)

    def close(self) -> None:
        with explained(self._path):
            self._lines.close()


class _Appended:
    def __init__(self, path: str) -> None:
        file = open_run_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._file = open(file, "ab", buffering=0)  # noqa: SIM115 - open until the run ends

    def write(self, line: bytes) -> None:
        self._file.write(line)

    def close(self) -> None:
        self._file.close()


class _Parts:
    """Numbered objects, written at growing intervals: readers see them, memory stays small.

    A run of one day has about 150 parts.
    """

    def __init__(self, fs: Any, folder: str) -> None:
        self._fs, self._folder = fs, folder
        self._number = len(fs.ls(folder, detail=False)) if fs.exists(folder) else 0
        self._waiting = bytearray()
        self._began = time.monotonic()
        self._next = self._began + _PART_EVERY_S

    def write(self, line: bytes) -> None:
        self._waiting += line
        now = time.monotonic()
        if now >= self._next or len(self._waiting) > _PART_BYTES:
            self._next = now + max(_PART_EVERY_S, (now - self._began) / _PARTS_OF_A_SPAN)
            self._put()

    def close(self) -> None:
        if self._waiting:
            self._put()

    def _put(self) -> None:
        self._fs.pipe_file(f"{self._folder}/{self._number:09}.jsonl", bytes(self._waiting))
        self._waiting.clear()
        self._number += 1


_PART_EVERY_S = 10.0
_PARTS_OF_A_SPAN = 20.0
"""The interval between parts grows with the duration of the run."""

_PART_BYTES = 4 << 20


def event_files(run_dir: str) -> tuple[Any, list[str]]:
    """Return the file system and the event files of a run, oldest first."""
    fs, root = open_filesystem(run_dir)
    file, folder = join(root, FILE), join(root, FOLDER)
    parts = sorted(fs.ls(folder, detail=False)) if fs.isdir(folder) else []
    return fs, [*([file] if fs.exists(file) else []), *map(str, parts)]
