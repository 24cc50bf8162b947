"""Measurements of a simulation: how busy GPU workers were, and the rate of deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.steps import StepSpec

from simulator.workers import SimulatedWorker


class Measures:
    """Recorded while a simulation runs."""

    def __init__(self, specs: Sequence[StepSpec]) -> None:
        self._watched = {spec.first for spec in specs if spec.need.gpus or spec.need.gpu_memory}
        self._work: list[tuple[float, float]] = []
        self._lives: list[tuple[float, float]] = []
        self._up: dict[int, float] = {}
        self.deliveries: list[tuple[float, int]] = []
        self.tasks = 0
        self.makespan = 0.0
        self.peak_bytes = 0

    def worker_up(self, worker: SimulatedWorker, now: float) -> None:
        if worker.first in self._watched:
            self._up[worker.number] = now

    def worker_down(self, worker: SimulatedWorker, now: float) -> None:
        since = self._up.pop(worker.number, None)
        if since is not None:
            self._lives.append((since, now))

    def worked(self, first: int, start: float, stop: float, tasks: int) -> None:
        self.tasks += tasks
        if first in self._watched:
            self._work.append((start, stop))

    def delivered(self, now: float, tasks: int) -> None:
        self.deliveries.append((now, tasks))

    def end(self, now: float, scheduler: Scheduler, workers: Iterable[SimulatedWorker]) -> None:
        self.makespan = self.deliveries[-1][0] if self.deliveries else now
        self.peak_bytes = scheduler.summary().peak_bytes
        for worker in workers:
            self.worker_down(worker, now)

    def warm_up(self, gpus: int, share: float = 0.95) -> float:
        """Return when this share of the GPUs was busy for the first time."""
        changes = [(start, 1) for start, _ in self._work] + [(stop, -1) for _, stop in self._work]
        at_work = 0
        for now, change in sorted(changes):
            at_work += change
            if at_work >= share * gpus:
                return now
        return float("inf")

    def steady_until(self, gpus: int) -> float:
        """Return until when there was more than enough work left for every GPU."""
        begun = sorted(start for start, _ in self._work)
        return begun[max(0, len(begun) - 3 * gpus)]

    def gpu_busy(self, start: float, stop: float) -> float:
        """Return the share of their lives that GPU workers were busy between two moments."""
        lived = _clipped(self._lives, start, stop)
        return _clipped(self._work, start, stop) / lived if lived else 0.0

    def gpu_capacity(self, gpus: float, start: float, stop: float) -> float:
        """Return the share of all GPUs that was busy; missing workers count as idle."""
        return _clipped(self._work, start, stop) / (gpus * (stop - start))

    def rate(self, start: float, stop: float) -> float:
        """Return the tasks delivered per second between two moments."""
        through = sum(tasks for now, tasks in self.deliveries if start <= now < stop)
        return through / (stop - start)


def _clipped(spans: Iterable[tuple[float, float]], start: float, stop: float) -> float:
    return sum(max(0.0, min(b, stop) - max(a, start)) for a, b in spans)
