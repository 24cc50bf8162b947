"""Usage: the time and memory that each stage used, whatever happened to its tasks.

Counts belong to sources and are taken back with them. Usage is added up over all calls, including
void ones.
"""

import time
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

BOUNDS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0,
)  # fmt: skip
"""Upper bounds of the histogram of seconds per task; the last bin is unbounded."""

RECYCLED = "was recycled"
"""Reason for stopping a healthy worker; an executor may append details."""


class Usage:
    """Time and memory of one stage.

    `seconds` is the time in the stage's own code, over all its workers. `waited_s` is the time its
    workers had no call, `held_s` the time until its outputs were taken, and `crowded_s` the time
    they were ready to run but had no CPU.
    """

    __slots__ = (
        "cpu_s", "crashes", "crowded_s", "held_s", "longest_s", "rss_bytes", "seconds", "setup_s",
        "setups", "tasks", "timeouts", "times", "waited_s",
    )  # fmt: skip

    def __init__(self) -> None:
        self.seconds = self.cpu_s = self.longest_s = 0.0
        self.waited_s = self.held_s = self.setup_s = self.crowded_s = 0.0
        self.tasks = self.setups = self.timeouts = self.crashes = self.rss_bytes = 0
        self.times: dict[int, int] = {}
        """Number of tasks per bin; the key is an index into BOUNDS."""

    def __getstate__(self) -> tuple[Any, ...]:
        """Return a plain tuple, because every call sends one."""
        return (
            self.seconds, self.cpu_s, self.longest_s, self.waited_s, self.held_s, self.setup_s,
            self.tasks, self.setups, self.timeouts, self.crashes, self.rss_bytes, self.times,
            self.crowded_s,
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (
            self.seconds, self.cpu_s, self.longest_s, self.waited_s, self.held_s, self.setup_s,
            self.tasks, self.setups, self.timeouts, self.crashes, self.rss_bytes, self.times,
            self.crowded_s,
        ) = state  # fmt: skip

    def add_tasks(self, seconds: float, tasks: int = 1) -> None:
        """Add finished tasks, each of which took `seconds`."""
        self.tasks += tasks
        bound = bisect_left(BOUNDS, seconds)
        self.times[bound] = self.times.get(bound, 0) + tasks
        if seconds > self.longest_s:
            self.longest_s = seconds

    def add_lost_worker(self, reason: str) -> None:
        """Count a worker that died or was stopped in this stage."""
        if "timeout_s" in reason:
            self.timeouts += 1
        else:
            self.crashes += 1

    def add(self, other: "Usage") -> None:
        self.seconds += other.seconds
        self.cpu_s += other.cpu_s
        self.waited_s += other.waited_s
        self.held_s += other.held_s
        self.setup_s += other.setup_s
        self.crowded_s += other.crowded_s
        self.tasks += other.tasks
        self.setups += other.setups
        self.timeouts += other.timeouts
        self.crashes += other.crashes
        self.longest_s = max(self.longest_s, other.longest_s)
        self.rss_bytes = max(self.rss_bytes, other.rss_bytes)
        for bound, times in other.times.items():
            self.times[bound] = self.times.get(bound, 0) + times

    def quantile(self, part: float) -> float:
        """Return the seconds within which this share of all tasks finished (interpolated)."""
        rank, below = part * self.tasks, 0
        for bound in sorted(self.times):
            within = self.times[bound]
            if below + within >= rank:
                low = BOUNDS[bound - 1] if bound else 0.0
                high = BOUNDS[bound] if bound < len(BOUNDS) else self.longest_s
                return min(low + (high - low) * (rank - below) / within, self.longest_s)
            below += within
        return self.longest_s

    def to_json(self) -> dict[str, Any]:
        """Return the values that are not zero."""
        facts = {
            "seconds": round(self.seconds, 3), "cpu_s": round(self.cpu_s, 3),
            "longest_s": round(self.longest_s, 6), "waited_s": round(self.waited_s, 3),
            "held_s": round(self.held_s, 3), "setup_s": round(self.setup_s, 3),
            "crowded_s": round(self.crowded_s, 3),
            "tasks": self.tasks, "setups": self.setups, "timeouts": self.timeouts,
            "crashes": self.crashes, "rss_bytes": self.rss_bytes,
            "times": " ".join(f"{bound}:{tasks}" for bound, tasks in sorted(self.times.items())),
        }  # fmt: skip
        return {name: value for name, value in facts.items() if value}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> "Usage":
        usage = cls()
        for name, value in facts.items():
            setattr(usage, name, value)
        pairs = (pair.split(":") for pair in facts.get("times", "").split())
        usage.times = {int(bound): int(tasks) for bound, tasks in pairs}
        return usage


class Usages(dict[int, Usage]):
    """Usage of several stages, by index."""

    def of(self, stage_index: int) -> Usage:
        if (usage := self.get(stage_index)) is None:
            usage = self[stage_index] = Usage()
        return usage

    def named(self, names: Mapping[int, str]) -> dict[str, Usage]:
        """Return the usage by stage name, in the order of `names`."""
        return {name: self[index] for index, name in names.items() if index in self}

    def add(self, other: Mapping[int, Usage]) -> None:
        for index, more in other.items():
            self.of(index).add(more)


class Timesheet:
    """Setup and idle time of a worker process that it has not reported yet."""

    def __init__(self) -> None:
        self._owed = Usages()
        self._idle_since: float | None = None

    def set_up(self, stage_index: int, seconds: float) -> None:
        usage = self._owed.of(stage_index)
        usage.setups += 1
        usage.setup_s += seconds
        self._idle_since = time.perf_counter()

    def begin(self, usages: Usages, stage_index: int) -> None:
        """Start a call at this stage and add the unreported usage to it."""
        owed, self._owed = self._owed, Usages()
        usages.add(owed)
        if self._idle_since is not None:
            usages.of(stage_index).waited_s += time.perf_counter() - self._idle_since

    def end(self) -> None:
        self._idle_since = time.perf_counter()
