"""Recycling: replace workers that are old, that grew, or that have processed many tasks."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import NamedTuple

from curator_core.model.usage import RECYCLED

from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.state import READY, SchedulerState, Worker
from curator_streaming.scheduler.steps import strictest_limit

_SETTLING_CALLS = 20
"""After this many calls without a new setup, a worker's memory is what its stages normally need."""

_MIN_LEAK_BYTES = 1 << 30
_LEAK_INTERVAL_S = 600.0
_WORKERS_REMEMBERED = 64


class _Limits(NamedTuple):
    lifetime_s: float
    tasks: float
    rss: float


class Recycler:
    """Replaces a few workers at a time.

    Each runs until its successor is ready, if there is room for both.
    """

    def __init__(self, state: SchedulerState, lifecycle: WorkerLifecycle) -> None:
        self.state = state
        self.lifecycle = lifecycle
        self._leaks = LeakDetector(state)
        self._limits: dict[int, _Limits] = {}
        self._successors: dict[int, Worker] = {}
        self._retiring: dict[Worker, str] = {}
        self._not_before = 0.0

    def check(self, worker: Worker, rss: int) -> None:
        """Replace a worker whose call has just ended, if it is due. `rss` is 0 if unknown."""
        state = self.state
        has_leak = rss > 0 and self._leaks.check(worker, rss)
        if worker.state != READY or worker in self._retiring or state.now < self._not_before:
            return
        reason = self._find_reason(worker, rss) or (self._leaks.describe(worker, rss, has_leak))
        pool = worker.pool
        if not reason or pool.leaving + len(self._retiring) >= max(1, pool.size // 4):
            return
        self._not_before = state.now + state.settings.worker_restart_interval_s
        if has_leak:
            self._leaks.replaced(worker)
        state.explain(
            "leak" if has_leak else "recycle", f"worker {worker.id}: {reason}", pool.first
        )
        stop_reason = f"{RECYCLED}: {reason}"
        successor = self._start_successor(worker)
        if successor is None:
            self.lifecycle.drain(worker, stop_reason)
        else:
            self.retire(worker, successor, stop_reason)

    def retire(self, worker: Worker, successor: Worker, reason: str) -> None:
        """Drain a worker when its successor is ready."""
        worker.pool.retiring += 1
        self._retiring[worker] = reason
        self._successors[successor.id] = worker

    def is_retiring(self, worker: Worker) -> bool:
        return worker in self._retiring

    def worker_ready(self, worker: Worker) -> None:
        """Drain the worker that this one replaces, if any."""
        old = self._successors.pop(worker.id, None)
        if old is not None and old in self._retiring:
            self.lifecycle.drain(old, self._end_retirement(old))

    def worker_down(self, worker: Worker) -> None:
        self._leaks.forget(worker)
        if worker in self._retiring:
            self._end_retirement(worker)
        self.worker_ready(worker)

    def _end_retirement(self, worker: Worker) -> str:
        worker.pool.retiring -= 1
        return self._retiring.pop(worker)

    def _start_successor(self, worker: Worker) -> Worker | None:
        first = worker.pool.first
        if first is None:
            return self.lifecycle.start_shared_on(worker.node)
        step = self.state.steps[first]
        nodes = [node for node in self.state.nodes.values() if not node.excluded & step.bit]
        here = [node for node in nodes if node is worker.node]
        return self.lifecycle.start_dedicated(step, here) or self.lifecycle.start_dedicated(
            step, nodes
        )

    def _find_reason(self, worker: Worker, rss: int) -> str:
        limits = self._limits_of(worker)
        if 0 < limits.tasks <= worker.tasks:
            return f"it has processed {worker.tasks} tasks"
        if 0 < limits.rss <= rss:
            return f"it has grown to {rss >> 20} MB"
        age = self.state.now - worker.ready_at
        if 0 < limits.lifetime_s <= age:
            return f"it is {age:.0f} s old"
        return ""

    def _limits_of(self, worker: Worker) -> _Limits:
        """Return the strictest limits of the stages that are set up in a worker."""
        if worker.warm not in self._limits:
            settings = self.state.settings
            steps = [step for step in self.state.steps.values() if worker.warm & step.bit]
            stages = [stage for step in steps for stage in step.spec.limits]
            self._limits[worker.warm] = _Limits(
                strictest_limit(settings.worker_max_lifetime_s, [s.max_lifetime_s for s in stages]),
                strictest_limit(settings.worker_max_tasks, [s.max_tasks for s in stages]),
                strictest_limit(settings.worker_max_rss, [s.max_rss for s in stages]),
            )
        return self._limits[worker.warm]


class LeakDetector:
    """Compares the memory of each worker with what the workers of its stage normally need."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self._growth = state.settings.worker_max_growth
        self._memory: dict[int, _WorkerMemory] = {}
        self._settled: dict[int | None, deque[int]] = {}
        self._not_before: dict[int | None, float] = {}

    def check(self, worker: Worker, rss: int) -> bool:
        """Record the memory of a worker, and return whether it is one to replace."""
        memory = self._memory.setdefault(worker.id, _WorkerMemory())
        if memory.warm != worker.warm:
            memory.warm, memory.calls, memory.settled = worker.warm, 0, 0
        memory.calls += 1
        pool = worker.pool.first
        if memory.calls == _SETTLING_CALLS:
            memory.settled = rss
            self._settled.setdefault(pool, deque(maxlen=_WORKERS_REMEMBERED)).append(rss)
        if not self._growth or not memory.settled or rss < _MIN_LEAK_BYTES:
            return False
        is_due = self._state.now >= self._not_before.get(pool, 0.0)
        return is_due and rss >= self._growth * self._normal(worker)

    def describe(self, worker: Worker, rss: int, has_leak: bool) -> str:
        if not has_leak:
            return ""
        first = worker.pool.first
        names = [s.spec.name for s in self._state.steps.values() if worker.warm & s.bit]
        name = self._state.steps[first].spec.name if first is not None else ", ".join(names)
        normal = int(self._normal(worker)) >> 20
        return f"it has grown from {normal} to {rss >> 20} MB; {name} may leak memory"

    def replaced(self, worker: Worker) -> None:
        self._not_before[worker.pool.first] = self._state.now + _LEAK_INTERVAL_S

    def forget(self, worker: Worker) -> None:
        self._memory.pop(worker.id, None)

    def _normal(self, worker: Worker) -> float:
        """Return the memory of a settled worker: of this one, or the median, if that is more."""
        others = self._settled.get(worker.pool.first, ())
        return max(self._memory[worker.id].settled, median(others) if others else 0)


class _WorkerMemory:
    """The memory of one worker since its last setup."""

    __slots__ = ("calls", "settled", "warm")

    def __init__(self) -> None:
        self.warm = self.calls = self.settled = 0
