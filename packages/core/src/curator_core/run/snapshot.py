"""Snapshots of a run: taken and emitted at intervals; the latest is stored for `curate status`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.model.records import StageCounts
from curator_core.model.snapshot import ExecutorState, Queue, RunSnapshot, StageSnapshot
from curator_core.model.usage import Usage
from curator_core.plan.events import Events
from curator_core.plan.plan import PlannedStage
from curator_core.run.journal import from_line, to_line
from curator_core.run.permissions import replace_run_file

EVERY_S = 0.25
_LEAST_SHARE = 100
"""The interval between snapshots is at least this many times the cost of one."""

_AT_MOST_S = 2.0
"""Upper limit of that interval: the next snapshot may be faster."""


class SnapshotEmitter:
    """Emits snapshots of one run; `read` returns its state, for a given status."""

    def __init__(self, events: Events, read: Callable[[str], RunSnapshot]) -> None:
        self._events = events
        self._read = read
        self._next = 0.0
        self._work_seen = -1
        self._last_progress = 0.0

    def begin(self) -> None:
        self.emit()
        self._next = time.monotonic() + EVERY_S  # the first one is slow: it starts observers

    def tick(self) -> None:
        if time.monotonic() >= self._next and self._events.has_listener("snapshot"):
            self.emit()

    def emit(self, status: str = "running") -> None:
        """Emit a snapshot now, even if the last one is recent."""
        started = time.perf_counter()
        self._events.emit("snapshot", snapshot=self.take(status))
        cost = time.perf_counter() - started
        self._next = time.monotonic() + min(max(EVERY_S, _LEAST_SHARE * cost), _AT_MOST_S)

    def take(self, status: str = "running") -> RunSnapshot:
        """Return the state of the run, with the time of its last progress."""
        snapshot = self._read(status)
        work = sum(stage.usage.tasks + stage.counts.tasks_in for stage in snapshot.stages)
        work += snapshot.done
        if work != self._work_seen:
            self._work_seen, self._last_progress = work, snapshot.time
        return replace(snapshot, last_progress=self._last_progress)


def stage_snapshots(
    stages: Sequence[PlannedStage],
    counts: Mapping[int, StageCounts],
    settled: Mapping[int, StageCounts],
    usages: Mapping[int, Usage],
    state: ExecutorState,
) -> tuple[StageSnapshot, ...]:
    """Return the snapshots of stages. `settled` are the counts of finished sources."""
    queues = _derive_queues(stages, counts) if state.queues is None else state.queues
    return tuple(
        StageSnapshot(
            planned.index,
            planned.name,
            counts[planned.index],
            settled[planned.index],
            usages.get(planned.index, Usage()),
            queues.get(planned.index, Queue()),
            state.at_work.get(planned.index, 0),
            planned.stage.writes,
        )
        for planned in stages
    )


def _derive_queues(
    stages: Sequence[PlannedStage], counts: Mapping[int, StageCounts]
) -> dict[int, Queue]:
    """Return the tasks that one stage returned and the next has not taken yet."""
    return {
        after.index: Queue(max(0, counts[before.index].tasks_out - counts[after.index].tasks_in))
        for before, after in pairwise(stages)
    }


FILE = "latest.json"
LOCAL_EVERY_S, REMOTE_EVERY_S = 1.0, 10.0
"""Seconds between writes on a disk, and on object stores, which may charge for requests."""


class LatestSnapshotFile:
    """Writes the latest snapshot at intervals; `run.json` replaces it when the run has ended."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, root = open_filesystem(run_dir, storage_options)
        self._path = join(root, FILE)
        self._is_local = is_local(self._fs)
        self._every_s = LOCAL_EVERY_S if self._is_local else REMOTE_EVERY_S
        self._next = 0.0

    def __call__(self, event: dict[str, Any]) -> None:
        snapshot: RunSnapshot = event["snapshot"]
        now = time.monotonic()
        if now < self._next or snapshot.status != "running":
            return
        self._next = now + self._every_s
        content = to_line(snapshot.to_json())
        try:
            if self._is_local:
                replace_run_file(self._path, content)
            else:
                self._fs.pipe_file(self._path, content)
        except OSError:  # on a full disk, the write of actual data ends the run
            self._next = now + 10 * self._every_s

    def clear(self) -> None:
        """Delete the file at the end: the disk may be full, and `run.json` needs the space."""
        with suppress(OSError):
            self._fs.rm_file(self._path)


def read_latest(run_dir: str, storage_options: dict[str, Any] | None = None) -> RunSnapshot | None:
    """Return the latest snapshot; None if there is none, or an earlier version wrote it."""
    fs, root = open_filesystem(run_dir, storage_options)
    try:
        return RunSnapshot.from_json(from_line(fs.cat_file(join(root, FILE))))
    except (OSError, ValueError, KeyError, TypeError):
        return None
