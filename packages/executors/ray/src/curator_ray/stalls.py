"""Stalls: runs without progress are reported with stacks, and end if their workers are idle."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from curator_core import PlannedStage
from curator_core.errors import StageError

from curator_ray.worker.activity import WorkerActivity
from curator_ray.worker.node_tasks import read_activities_on_nodes
from curator_ray.worker.status_files import StatusFiles

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_FIRST_INSPECTION = 0.1
"""The share of the time until a warning after which workers are read for the first time."""

_JOIN_TIMEOUT_S = 15.0
_STACKS_IN_WARNING = 3


@dataclass(frozen=True, slots=True)
class BusyWorker:
    """A worker with a call of a stage."""

    files: StatusFiles
    planned: PlannedStage


@dataclass(frozen=True, slots=True)
class StalledWorker:
    """A worker with a call, at the time of a warning."""

    worker_id: str
    node: str
    stage: str
    is_idle: bool
    stack: str

    def __str__(self) -> str:
        state = "used no CPU, GPU or I/O" if self.is_idle else "is busy"
        return f"worker {self.worker_id} on node {self.node[:8]} in stage {self.stage!r} {state}"


@dataclass
class _Inspection:
    """Reads what workers are doing, in a thread, because other machines may answer slowly."""

    workers: list[StatusFiles]
    with_stacks: bool
    found: dict[str, WorkerActivity] | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._read, name="curator-stalls", daemon=True)
        self.thread.start()

    def _read(self) -> None:
        found: list[WorkerActivity] = []
        try:
            found = read_activities_on_nodes(self.workers, with_stacks=self.with_stacks)
        except Exception:
            LOG.debug("workers could not be inspected", exc_info=True)
        finally:
            self.found = {activity.worker_id: activity for activity in found}


class StallMonitor:
    """Looks at the workers of a run that makes no progress.

    Early on it reads what they have used so far, and after `warning_s` what they used since then.
    The run ends if that is nothing for every worker with a call; otherwise there is a warning. A
    run that waits for hardware or for other jobs has no calls, and ends only after `timeout_s`.
    """

    def __init__(
        self,
        run: "RemoteRun",
        busy_workers: Callable[[], Sequence[BusyWorker]],
        warning_s: float,
        timeout_s: float | None,
    ) -> None:
        self._run = run
        self._busy_workers = busy_workers
        self._warning_s = warning_s
        self._timeout_s = timeout_s
        self._since = time.monotonic()
        self._inspection: _Inspection | None = None
        self._is_valid = False
        """Whether there was no progress since the inspection was started."""

        self._before: dict[str, WorkerActivity] | None = None
        self._inspect_at = 0.0
        self.note_progress()

    def note_progress(self) -> None:
        self._since = time.monotonic()
        self._inspect_at = self._since + _FIRST_INSPECTION * self._warning_s
        self._before = None
        self._is_valid = False

    def check(self) -> StageError | None:
        """Return the error that ends the run, if it is time for one."""
        now = time.monotonic()
        if self._inspection is not None:
            return self._finish_inspection(self._inspection, now)
        is_over = self._timeout_s is not None and now - self._since >= self._timeout_s
        if is_over or now >= self._inspect_at:
            self._inspect_at = self._since + self._warning_s
            self._is_valid = True
            self._inspection = _Inspection(
                [worker.files for worker in self._busy_workers()],
                with_stacks=self._before is not None,
            )
        return None

    def _finish_inspection(self, inspection: _Inspection, now: float) -> StageError | None:
        if inspection.found is None:
            return None  # the nodes have not answered yet
        self._inspection = None
        if not self._is_valid:
            return None
        if self._before is None:
            self._before = inspection.found
            return None
        return self._judge(inspection.found, self._before, now - self._since)

    def close(self) -> None:
        """Wait for an inspection, which must not use Ray after it was shut down."""
        if self._inspection is not None:
            self._inspection.thread.join(_JOIN_TIMEOUT_S)

    def _judge(
        self,
        found: dict[str, WorkerActivity],
        before: dict[str, WorkerActivity],
        seconds: float,
    ) -> StageError | None:
        busy = self._busy_workers()
        workers = [
            self._describe(worker, found[key], before.get(key))
            for worker in busy
            if (key := worker.files.worker_id) in found
        ]
        are_idle = bool(busy) and sum(worker.is_idle for worker in workers) == len(busy)
        is_over = self._timeout_s is not None and seconds >= self._timeout_s
        listed = "; ".join(map(str, workers[:_STACKS_IN_WARNING])) or "no worker has a call"
        text = f"no progress for {_duration(seconds)}: {listed}"
        stacks = "\n\n".join(
            f"{worker}:\n{worker.stack}" for worker in workers[:_STACKS_IN_WARNING] if worker.stack
        )
        self._run.events.emit(
            "stalled",
            seconds=round(seconds, 1),
            workers=[
                {"worker": w.worker_id, "node": w.node, "stage": w.stage, "idle": w.is_idle}
                for w in workers
            ],
            stacks=stacks,
        )
        if are_idle or is_over:
            return StageError(
                f"{text}; finished work is kept, run it again to resume",
                stage=workers[0].stage if workers else "",
                detail=stacks,
            )
        LOG.warning("%s\n%s", text, stacks)
        self._before = found
        self._inspect_at = time.monotonic() + self._warning_s
        return None

    def _describe(
        self, worker: BusyWorker, now: WorkerActivity, before: WorkerActivity | None
    ) -> StalledWorker:
        planned = worker.planned
        if now.stage_index is not None:
            planned = self._run.plan.stages[now.stage_index]
        uses_gpu = worker.planned.resources.needs_gpu
        is_idle = before is not None and now.is_idle_since(before, uses_gpu=uses_gpu)
        files = worker.files
        return StalledWorker(files.worker_id, files.node_id, planned.name, is_idle, now.stack)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
