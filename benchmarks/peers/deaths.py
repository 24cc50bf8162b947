"""Deaths: workers of this process's own cluster, killed at random."""

import threading
from random import Random
from types import TracebackType
from typing import Self

import psutil

NOT_WORKERS = ("ray::IDLE", "ray::RuntimeEnvAgent", "ray::DashboardAgent")


class RandomDeaths:
    """While it is open, a worker gets SIGKILL every so many seconds; None: nobody does."""

    def __init__(self, every_s: float | None) -> None:
        self._every_s = every_s
        self._ended = threading.Event()
        self._random = Random(7)
        self._thread = threading.Thread(target=self._kill_some, daemon=True)
        self.number = 0

    def __enter__(self) -> Self:
        if self._every_s:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _kill_some(self) -> None:
        while not self._ended.wait(self._every_s):
            workers = [p for p in psutil.Process().children(recursive=True) if _is_worker(p)]
            if workers:
                self._random.choice(workers).kill()
                self.number += 1


def _is_worker(process: psutil.Process) -> bool:
    """Ray's processes change their titles to what they do."""
    try:
        title = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return title.startswith("ray::") and not title.startswith(NOT_WORKERS)
