"""Stalls of a job: Ray Data reports no calls, so the run looks at what its workers are doing."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from curator_core.local.shared_status import StageStatus
from curator_ray.stalls import BusyWorker, StallMonitor
from curator_ray.worker.status_files import StatusFiles

from curator_ray_data.options import RayDataOptions

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_POLLS_PER_LIMIT = 20
_MAX_POLL_S = 30.0

WorkerStatus = tuple[StatusFiles, StageStatus | None]


class StallWatch:
    """A run makes progress when its job gives a block, or a worker enters another call."""

    def __init__(
        self,
        run: "RemoteRun",
        options: RayDataOptions,
        find_workers: Callable[[], list[WorkerStatus]],
    ) -> None:
        """`find_workers` returns the workers of all nodes; those that wait have no status."""
        self._stages = run.plan.stages
        self._find_workers = find_workers
        self._workers: list[WorkerStatus] = []
        limit_s = min(options.stall_warning_s, options.stall_timeout or options.stall_warning_s)
        self._poll_s = min(_MAX_POLL_S, limit_s / _POLLS_PER_LIMIT)
        self._next_poll = 0.0
        self._monitor = StallMonitor(
            run, self._busy, options.stall_warning_s, options.stall_timeout
        )

    def used_nodes(self) -> set[str]:
        """Return the nodes that had workers at the last poll."""
        return {files.node_id for files, _ in self._workers}

    def note_progress(self) -> None:
        self._monitor.note_progress()

    def poll(self) -> None:
        """Call this regularly. Raises an error that ends a run without progress."""
        now = time.monotonic()
        if now >= self._next_poll:
            self._next_poll = now + self._poll_s
            workers = sorted(self._find_workers(), key=lambda worker: worker[0].worker_id)
            if workers != self._workers:
                self._workers = workers
                self.note_progress()
        if error := self._monitor.check():
            raise error

    def close(self) -> None:
        self._monitor.close()

    def _busy(self) -> list[BusyWorker]:
        return [
            BusyWorker(files, self._stages[status.stage_index])
            for files, status in self._workers
            if status is not None
        ]
