"""Process trees: what a process and all below it use, and ending what stays of them."""

import threading
import time
from contextlib import suppress

import psutil


class TreeWatch:
    """Looks at a process and its descendants again and again, until told to stop.

    Who has been seen once is watched for good, even after its parent has ended. Memory that several
    processes share counts once (proportional set size), where the system tells.
    """

    def __init__(self, pid: int, *, every_s: float, memory: bool) -> None:
        self._root = psutil.Process(pid)
        self._every_s = every_s
        self._wants_memory = memory
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._seen: dict[psutil.Process, float] = {self._root: 0.0}
        self.peak_bytes = 0

    @property
    def cpu_s(self) -> float:
        """The CPU time of all of them, but for what they spent after they were last seen."""
        return sum(self._seen.values())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def clear_away(self, grace_s: float) -> int:
        """End what is still there after a while; how many that were."""
        until = time.monotonic() + grace_s
        while (left := self._alive()) and time.monotonic() < until:
            time.sleep(0.05)
        for process in left:
            with suppress(psutil.Error):  # it may just have ended by itself
                process.kill()
        return len(left)

    def _alive(self) -> list[psutil.Process]:
        return [process for process in self._seen if _is_alive(process)]

    def _watch(self) -> None:
        self._look()
        while not self._ended.wait(self._every_s):
            self._look()

    def _look(self) -> None:
        try:
            below = self._root.children(recursive=True)
        except psutil.Error:
            below = []
        for process in below:
            self._seen.setdefault(process, 0.0)
        alive = self._alive()
        for process in alive:
            self._seen[process] = max(self._seen[process], _cpu_of(process))
        if self._wants_memory:
            self.peak_bytes = max(self.peak_bytes, sum(map(_memory_of, alive)))


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _cpu_of(process: psutil.Process) -> float:
    try:
        spent = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(spent.user + spent.system)


def _memory_of(process: psutil.Process) -> int:
    """In a short way where there is one: the long one slows down what is looked at."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup") as file:
            told = next(line for line in file if line.startswith("Pss:"))
        return int(told.split()[1]) * 1024
    except (OSError, StopIteration):
        return _memory_at_length(process)


def _memory_at_length(process: psutil.Process) -> int:
    try:
        held = process.memory_full_info()
    except psutil.Error:  # it has just ended
        return 0
    return int(getattr(held, "pss", held.rss))
