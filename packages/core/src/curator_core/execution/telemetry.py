"""Resource telemetry sampled while a stage runs: wall and CPU time, CPU queueing, resident memory.

The samplers are called after every task and return 0 unless their interval has passed, so that
sampling costs nothing.
"""

import os
import sys
import threading
import time

from curator_core.model.usage import Usage

CPU_QUEUE_INTERVAL_S = 0.05
"""Short enough that the time goes to the stage that waited."""

MEMORY_INTERVAL_S = 0.25


class CpuQueueSampler(threading.local):
    """Measure how long the current thread was runnable but had no CPU (Linux only)."""

    def __init__(self) -> None:
        self._pid = 0
        self._fd = -1
        self._sampled_at = 0.0
        self._total_s = 0.0

    def sample(self, now: float) -> float:
        """Return the seconds queued since the last sample, or 0 if it was taken a moment ago."""
        if now - self._sampled_at < CPU_QUEUE_INTERVAL_S:
            return 0.0
        self._sampled_at = now
        if self._pid != os.getpid():  # first use, or the process was forked
            self._pid, self._fd = os.getpid(), _open_schedstat()
            self._total_s = _read_queue_seconds(self._fd)
            return 0.0
        previous, self._total_s = self._total_s, _read_queue_seconds(self._fd)
        return self._total_s - previous


class MemorySampler:
    """Sample the resident memory of this process for each stage."""

    def __init__(self) -> None:
        self._sampled_at: dict[int, float] = {}

    def sample(self, stage_index: int, now: float) -> int:
        """Return the resident bytes, or 0 if this stage was sampled a moment ago."""
        if now - self._sampled_at.get(stage_index, -MEMORY_INTERVAL_S) < MEMORY_INTERVAL_S:
            return 0
        self._sampled_at[stage_index] = now
        return resident_bytes()


def resident_bytes() -> int:
    """Return the resident memory of this process; its peak where /proc does not exist."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _open_schedstat() -> int:
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _read_queue_seconds(fd: int) -> float:
    if fd < 0:
        return 0.0
    return int(os.pread(fd, 100, 0).split()[1]) / 1e9


_CPU_QUEUE = CpuQueueSampler()
_MEMORY = MemorySampler()


class Stopwatch:
    """Measure one stage within one call. Time adds up over several entries until a task is done."""

    __slots__ = ("_cpu", "_index", "_spent", "_started", "usage")

    def __init__(self, stage_index: int, usage: Usage) -> None:
        self.usage = usage
        self._index = stage_index
        self._spent = self._started = self._cpu = 0.0

    def start(self) -> None:
        self._cpu = time.process_time()
        self._started = time.perf_counter()

    def stop(self) -> float:
        """Return the seconds since the start."""
        usage, now = self.usage, time.perf_counter()
        elapsed = now - self._started
        usage.seconds += elapsed
        usage.cpu_s += time.process_time() - self._cpu
        usage.crowded_s += _CPU_QUEUE.sample(now)
        self._spent += elapsed
        if (resident := _MEMORY.sample(self._index, now)) > usage.rss_bytes:
            usage.rss_bytes = resident
        return elapsed

    def finish_tasks(self, tasks: int = 1) -> None:
        """Share the time spent so far among finished tasks, including failed ones."""
        self.usage.add_tasks(self._spent / tasks, tasks)
        self._spent = 0.0
