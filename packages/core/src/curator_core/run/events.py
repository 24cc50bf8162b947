"""Event log of a run: events in order, for people and programs that monitor it."""

import os
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from io import FileIO
from typing import Any

from curator_core.io.atomic_write import explain_write_errors
from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.model.samples import MAX_CHANGES, MAX_DROPS, MAX_KEPT, MAX_REASONS, Sample
from curator_core.model.secrets import redact
from curator_core.model.snapshot import RunSnapshot
from curator_core.plan.events import Event, Events
from curator_core.plan.plan import Plan
from curator_core.run.journal import to_line
from curator_core.run.permissions import open_run_file


class SnapshotThinning:
    """Selects the snapshots to keep: one per second at first, fewer as the run gets longer."""

    def __init__(self) -> None:
        self._next = 0.0

    def takes(self, snapshot: RunSnapshot) -> bool:
        if snapshot.seconds < self._next and snapshot.status == "running":
            return False
        self._next = snapshot.seconds + max(_KEPT_EVERY_S, snapshot.seconds / _KEPT_OF_EACH_SPAN)
        return True


_KEPT_EVERY_S = 1.0
_KEPT_OF_EACH_SPAN = 100
"""Doubling the duration of a run adds about 70 snapshots."""


FILE, FOLDER = "events.jsonl", "events"


class EventFile:
    """Writes events as JSON lines; in parts on an object store, which cannot append."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        fs, path = open_filesystem(run_dir, storage_options)
        self._path = join(path, FILE if is_local(fs) else FOLDER)
        self._lines = _open_appended(self._path) if is_local(fs) else _Parts(fs, self._path)
        self._thinning = SnapshotThinning()

    def __call__(self, event: Event) -> None:
        if "snapshot" in event:
            if self._thinning.takes(event["snapshot"]):
                with suppress(OSError):  # on a full disk, the write of actual data ends the run
                    self._lines.write(to_line({**event, "snapshot": event["snapshot"].in_short()}))
            return
        with explain_write_errors(self._path):
            self._lines.write(redact(to_line(event).decode()).encode())

    def close(self) -> None:
        with explain_write_errors(self._path):
            self._lines.close()


def _open_appended(path: str) -> FileIO:
    file = open_run_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return open(file, "ab", buffering=0)


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


class SampleEvents:
    """Emits the first few samples of each kind as events of the run."""

    def __init__(self, plan: Plan, events: Events) -> None:
        self._names = {planned.index: planned.name for planned in plan.stages}
        self._events = events
        self._taken: dict[int, Counter[str]] = {}

    def take(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            taken = self._taken.setdefault(sample.stage_index, Counter())
            most = _most_of(sample)
            is_new = sample.reason not in taken
            if taken[sample.reason] >= most or (is_new and len(taken) > MAX_REASONS):
                continue
            taken[sample.reason] += 1
            self._events.emit(
                "sample", stage=self._names[sample.stage_index], **_sample_facts(sample)
            )


def _most_of(sample: Sample) -> int:
    if sample.is_kept:
        return MAX_KEPT
    return MAX_DROPS if sample.after is None else MAX_CHANGES


def _sample_facts(sample: Sample) -> dict[str, Any]:
    """Return the non-empty fields of a sample; `before` and `after` may be empty texts."""
    texts = {"before": sample.before} | ({} if sample.after is None else {"after": sample.after})
    others = ("column", "reason", "label", "start", "length", "is_kept")
    return texts | {name: value for name in others if (value := getattr(sample, name))}
