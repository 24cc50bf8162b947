"""Journal of a run: one line per event, append-only.

On a local disk it is one file, synced to disk when requested. Object stores cannot append, so there
it is a series of small objects. A torn last line, as a crash leaves it, is cut off. Lines are
independent: damage in the middle only loses the damaged lines.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

import orjson

from curator_core.io.atomic_write import explain_write_errors
from curator_core.io.filesystems import base_name, is_local, open_filesystem
from curator_core.logs import log
from curator_core.run.permissions import open_run_file, refuse_deleted


def to_line(facts: Any) -> bytes:
    """Return the facts as one JSON line, including the newline."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE, default=str)
    except TypeError:  # a name that is not valid UTF-8, which orjson rejects
        return json.dumps(facts, default=str).encode() + b"\n"


def to_page(facts: Any) -> bytes:
    """Return the facts as indented JSON for people."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2, default=str)
    except TypeError:
        return json.dumps(facts, indent=2, default=str).encode()


def from_line(line: bytes) -> Any:
    """Parse a line; raise ValueError if it is not JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)


LOG = log()

Entry = dict[str, Any]


class Journal(Protocol):
    """Storage of a journal's entries."""

    def entries(self) -> Iterator[Entry]: ...

    def append(self, entry: Entry, *, durable: bool = True) -> None: ...

    def append_all(self, entries: Sequence[Entry], *, durable: bool = True) -> None:
        """Append several entries in one write. After a crash, any prefix of them may be present."""
        ...

    def check(self) -> None:
        """Raise if the journal was deleted: nothing may be published without an entry."""
        ...

    def close(self) -> None: ...


def open_journal(run_dir: str, storage_options: dict[str, Any] | None = None) -> Journal:
    fs, path = open_filesystem(run_dir, storage_options)
    if is_local(fs):
        return FileJournal(os.path.join(path, "journal.jsonl"))
    return ObjectJournal(fs, f"{path}/journal")


class FileJournal:
    """A journal in a local file."""

    def __init__(self, path: str) -> None:
        self._path = path
        with explain_write_errors(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._file = open_run_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._cut_torn_line()

    def entries(self) -> Iterator[Entry]:
        yield from parsed_lines(self._text(), self._path)

    def append(self, entry: Entry, *, durable: bool = True) -> None:
        self.append_all([entry], durable=durable)

    def append_all(self, entries: Sequence[Entry], *, durable: bool = True) -> None:
        if not entries:
            return
        before = os.lseek(self._file, 0, os.SEEK_END)
        self.check()
        with explain_write_errors(self._path):
            try:
                self._write(b"".join(map(to_line, entries)))
                if durable:
                    os.fdatasync(self._file)
            except OSError:  # a full disk may have taken half a line
                with suppress(OSError):
                    os.ftruncate(self._file, before)
                raise

    def check(self) -> None:
        refuse_deleted(self._path, self._file)

    def close(self) -> None:
        os.close(self._file)

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._file, line) :]

    def _cut_torn_line(self) -> None:
        """Cut off a torn last line, or the next entry would be appended to it."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.ftruncate(self._file, self._text().rfind(b"\n") + 1)

    def _text(self) -> bytes:
        with open(os.dup(self._file), "rb") as lines:  # the open file, even if it was renamed
            lines.seek(0)
            return lines.read()


class ObjectJournal:
    """A journal of numbered objects. Each holds a durable entry and the entries before it."""

    def __init__(self, fs: Any, folder: str) -> None:
        self._fs = fs
        self._folder = folder
        self._waiting = b""
        names = self._list_files()
        self._number = int(base_name(names[-1]).partition(".")[0]) + 1 if names else 0

    def entries(self) -> Iterator[Entry]:
        for name in self._list_files():
            yield from parsed_lines(self._fs.cat_file(name), name)

    def append(self, entry: Entry, *, durable: bool = True) -> None:
        self.append_all([entry], durable=durable)

    def append_all(self, entries: Sequence[Entry], *, durable: bool = True) -> None:
        self._waiting += b"".join(map(to_line, entries))
        if durable and entries:
            self._put()

    def check(self) -> None:
        pass

    def close(self) -> None:
        if self._waiting:
            self._put()

    def _put(self) -> None:
        self._fs.pipe_file(f"{self._folder}/{self._number:09}.jsonl", self._waiting)
        self._waiting = b""
        self._number += 1

    def _list_files(self) -> list[str]:
        if not self._fs.exists(self._folder):
            return []
        return sorted(self._fs.ls(self._folder, detail=False))


def parsed_lines(text: bytes, where: str) -> Iterator[Entry]:
    """Yield every intact entry; sources whose entries are lost are simply run again."""
    for number, line in enumerate(text.split(b"\n")[:-1], start=1):
        entry = parsed_line(line, where, number)
        if entry is not None:
            yield entry


def parsed_line(line: bytes, where: str, number: int) -> Entry | None:
    try:
        entry = from_line(line)
    except ValueError:
        entry = None
    if isinstance(entry, dict) and isinstance(entry.get("event"), str):
        return entry
    LOG.warning("%s line %d is damaged and left out", where, number)
    return None
