"""Snapshots of a run: taken and emitted at intervals; the latest is stored for `curate status`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.model.records import StageCounts
from curator_core.model.snapshot import ExecutorState, Queue, RunSnapshot, StageSnapshot
from curator_core.model.usage import Usage
from curator_core.run.journal import from_line, to_line
from curator_core.run.ledger import add_to
from curator_core.run.permissions import replace_run_file

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun


EVERY_S = 0.25
_LEAST_SHARE = 100
"""The interval between snapshots is at least this many times the cost of one."""

_AT_MOST_S = 2.0
"""Upper limit of that interval: the next snapshot may be faster."""


class SnapshotEmitter:
    """Emits the snapshots of one run."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        self._next = 0.0
        self._executor = ""
        self._seen = -1.0
        self._last_progress = time.time()

    def begin(self, executor: str) -> None:
        self._executor = executor
        self.emit()
        self._next = time.monotonic() + EVERY_S  # the first one is slow: it starts observers

    def tick(self) -> None:
        if time.monotonic() >= self._next and self._run.events.has_listener("snapshot"):
            self.emit()

    def emit(self, status: str = "running") -> None:
        """Emit a snapshot now, even if the last one is recent."""
        started = time.perf_counter()
        self._run.events.emit("snapshot", snapshot=self.take(status))
        cost = time.perf_counter() - started
        self._next = time.monotonic() + min(max(EVERY_S, _LEAST_SHARE * cost), _AT_MOST_S)

    def take(self, status: str = "running") -> RunSnapshot:
        """Return a snapshot of the run."""
        run, result = self._run, self._run.result
        counts = run.counts_so_far()
        state = ExecutorState()
        if run.executor_state and status == "running":  # there are no workers afterwards
            state = run.executor_state()
        last_progress = self._update_last_progress(counts)
        return RunSnapshot(
            time=time.time(),
            name=run.plan.name,
            executor=self._executor,
            status=status,
            seconds=run.seconds,
            done=result.sources_done,
            skipped=result.sources_skipped,
            failed=run.sources_failed,
            open=run.open_sources,
            left=run.sources_left,
            stages=self._stages(counts, state),
            executor_state=state,
            restarts=dict(result.worker_restarts),
            quarantined=dict(run.quarantined_tasks),
            last_progress=last_progress,
            is_stopping=run.stopping.is_requested,
        )

    def _stages(
        self, counts: Mapping[int, StageCounts], state: ExecutorState
    ) -> tuple[StageSnapshot, ...]:
        run = self._run
        queues = _queues(run, counts) if state.queues is None else state.queues
        return tuple(
            StageSnapshot(
                planned.index,
                planned.name,
                counts[planned.index],
                run.totals[planned.index],
                run.usages.get(planned.index, _NONE),
                queues.get(planned.index, _EMPTY),
                state.at_work.get(planned.index, 0),
                planned.stage.writes,
            )
            for planned in run.worker_stages
        )

    def _update_last_progress(self, counts: Mapping[int, StageCounts]) -> float:
        """Return the time of the last progress."""
        tasks = sum(usage.tasks for usage in self._run.usages.values())
        seen = tasks + self._run.result.sources_done + sum(c.tasks_in for c in counts.values())
        if seen != self._seen:
            self._seen, self._last_progress = seen, time.time()
        return self._last_progress


_NONE, _EMPTY = Usage(), Queue()


def _queues(run: ActiveRun, counts: Mapping[int, StageCounts]) -> dict[int, Queue]:
    """Return the tasks that one stage returned and the next has not taken yet."""
    return {
        after.index: Queue(max(0, counts[before.index].tasks_out - counts[after.index].tasks_in))
        for before, after in pairwise(run.worker_stages)
    }


def sum_counts(*accounts: Mapping[int, StageCounts]) -> dict[int, StageCounts]:
    total: dict[int, StageCounts] = {}
    for account in accounts:
        add_to(total, account)
    return total


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
            self._replace(content)
        except OSError:  # on a full disk, the write of actual data ends the run
            self._next = now + 10 * self._every_s

    def clear(self) -> None:
        """Delete the file at the end: the disk may be full, and `run.json` needs the space."""
        with suppress(OSError):
            self._fs.rm_file(self._path)

    def _replace(self, content: bytes) -> None:
        if not self._is_local:
            self._fs.pipe_file(self._path, content)
            return
        replace_run_file(self._path, content)


def read_latest(run_dir: str, storage_options: dict[str, Any] | None = None) -> RunSnapshot | None:
    """Return the latest snapshot; None if there is none, or an earlier version wrote it."""
    fs, root = open_filesystem(run_dir, storage_options)
    try:
        return RunSnapshot.from_json(from_line(fs.cat_file(join(root, FILE))))
    except (OSError, ValueError, KeyError, TypeError):
        return None
