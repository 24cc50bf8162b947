"""Worker cache: idle worker processes, kept for the next pipeline of a workflow."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from curator_core.local.watchdog import Watchdog
from curator_core.local.worker_process import ProcessSettings, WorkerProcess, end_plan


class WorkerCache:
    """Starts worker processes, keeps those that are idle, and has one watchdog for all of them.

    Idle processes are reused with the settings that they were started with: variables, search path,
    current folder, and GPU. What modules keep in memory stays there, as it does with `workers=0`.
    """

    def __init__(self, *, keeps_idle: bool) -> None:
        self._keeps_idle = keeps_idle
        self._idle: list[WorkerProcess] = []
        self._watchdog: Watchdog | None = None
        self._users = 0
        self._lock = threading.Lock()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the watchdog until the context exits; the last one ends it and all idle workers.

        The threads of a program may share an executor, and so a cache.
        """
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._close()

    def start(self, worker_id: str, siblings: int, gpus: str | None) -> WorkerProcess:
        """Return an idle worker or a new one. The caller sends the plan."""
        settings = ProcessSettings.current(siblings, gpus)
        with self._lock:
            worker = self._take_idle(settings, siblings)
            if worker is None:
                if self._watchdog is None:
                    self._watchdog = Watchdog()
                return WorkerProcess(worker_id, settings, self._watchdog)
        worker.prepare(worker_id)
        return worker

    def end(self, workers: Sequence[WorkerProcess], *, at_once: bool) -> None:
        """Have the workers tear down their stages; exit all that are not kept."""
        idle = end_plan(workers, at_once=at_once, keep=self._keeps_idle and not at_once)
        with self._lock:
            self._idle += idle

    def _take_idle(self, settings: ProcessSettings, most: int) -> WorkerProcess | None:
        """Return an idle worker with these settings. Exit those that no sibling can use either."""
        usable = [worker for worker in self._idle if _can_serve(worker, settings)][:most]
        unusable = [worker for worker in self._idle if worker not in usable]
        self._idle = usable
        end_plan(unusable)
        chosen = next((worker for worker in usable if worker.settings == settings), None)
        if chosen is not None:
            usable.remove(chosen)
        return chosen

    def _close(self) -> None:
        idle, self._idle = self._idle, []
        try:
            end_plan(idle)
        finally:
            if self._watchdog is not None:
                self._watchdog.finish()
                self._watchdog = None


def _can_serve(worker: WorkerProcess, settings: ProcessSettings) -> bool:
    """Whether a worker lives and has these settings, apart from its GPU."""
    return worker.can_take_plan and replace(worker.settings, gpus=settings.gpus) == settings
