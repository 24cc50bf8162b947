"""The journal of a run: one line per event, only ever appended to.

On a local disk it is one file, forced to the disk where that is asked for. Elsewhere nothing can
be appended to, so it is a row of small objects. A torn last line is what a crash leaves: ignored.
"""

import os
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from curator_core.filesystems import is_local, open_filesystem

Entry = dict[str, Any]


class Journal(Protocol):
    """Where the lines of a run are kept."""

    def entries(self) -> Iterator[Entry]: ...

    def append(self, entry: Entry, *, durable: bool = True) -> None: ...

    def close(self) -> None: ...


def open_journal(run_dir: str, storage_options: dict[str, Any] | None = None) -> Journal:
    fs, path = open_filesystem(run_dir, storage_options)
    if is_local(fs):
        return FileJournal(os.path.join(path, "journal.jsonl"))
    return ObjectJournal(fs, f"{path}/journal")


class FileJournal:
    """A file of lines."""

    def __init__(self, path: str) -> None:
        self._path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._cut_torn_line()

    def entries(self) -> Iterator[Entry]:
        with open(self._path, "rb") as lines:
            yield from _parsed(lines.read())

    def append(self, entry: Entry, *, durable: bool = True) -> None:
        os.write(self._file, orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))
        if durable:
            os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)

    def _cut_torn_line(self) -> None:
        """What follows would otherwise be appended to half a line."""
        size = os.fstat(self._file).st_size
        with open(self._path, "rb") as lines:
            if size and lines.seek(size - 1) is not None and lines.read(1) != b"\n":
                lines.seek(0)
                os.ftruncate(self._file, lines.read().rfind(b"\n") + 1)


class ObjectJournal:
    """A row of numbered objects, one for each entry that must last and what came before it."""

    def __init__(self, fs: Any, folder: str) -> None:
        self._fs = fs
        self._folder = folder
        self._waiting = b""
        self._number = len(self._names())

    def entries(self) -> Iterator[Entry]:
        for name in self._names():
            yield from _parsed(self._fs.cat_file(name))

    def append(self, entry: Entry, *, durable: bool = True) -> None:
        self._waiting += orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)
        if durable:
            self._fs.pipe_file(f"{self._folder}/{self._number:09}.jsonl", self._waiting)
            self._waiting = b""
            self._number += 1

    def close(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, b""
            self._fs.pipe_file(f"{self._folder}/{self._number:09}.jsonl", waiting)
            self._number += 1

    def _names(self) -> list[str]:
        if not self._fs.exists(self._folder):
            return []
        return sorted(self._fs.ls(self._folder, detail=False))


def _parsed(text: bytes) -> Iterator[Entry]:
    lines = text.split(b"\n")
    for line in lines[:-1]:
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            return  # damaged from here on: what it says cannot be trusted
