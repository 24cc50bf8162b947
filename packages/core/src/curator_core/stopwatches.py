"""Stopwatches: how long a stage's own code works on each task, on the wall and on the CPUs."""

import time

from curator_core.crowding import crowded_now_and_then
from curator_core.residency import resident_now_and_then
from curator_core.usages import Usage


class Stopwatch:
    """Of one stage within one call. Its entries into the stage add up until a task is through."""

    __slots__ = ("_cpu", "_index", "_spent", "_started", "usage")

    def __init__(self, stage_index: int, usage: Usage) -> None:
        self.usage = usage
        self._index = stage_index
        self._spent = self._started = self._cpu = 0.0

    def start(self) -> None:
        self._cpu = time.process_time()
        self._started = time.perf_counter()

    def stop(self) -> float:
        """Seconds since the start."""
        usage, now = self.usage, time.perf_counter()
        elapsed = now - self._started
        usage.seconds += elapsed
        usage.cpu_s += time.process_time() - self._cpu
        usage.crowded_s += crowded_now_and_then(now)
        self._spent += elapsed
        if (resident := resident_now_and_then(self._index, now)) > usage.rss_bytes:
            usage.rss_bytes = resident
        return elapsed

    def through(self, tasks: int = 1) -> None:
        """So many tasks are done, one way or the other."""
        self.usage.took(self._spent / tasks, tasks)
        self._spent = 0.0
