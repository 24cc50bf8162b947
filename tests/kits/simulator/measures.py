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
        self._all_work: list[tuple[float, float]] = []
        self._driving: list[tuple[float, float]] = []
        self.calls = 0
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
        self.calls += 1
        self._all_work.append((start, stop))
        if first in self._watched:
            self._work.append((start, stop))

    def drove(self, start: float, stop: float) -> None:
        self._driving.append((start, stop))

    def delivered(self, now: float, tasks: int) -> None:
        self.deliveries.append((now, tasks))

    def end(self, now: float, scheduler: Scheduler, workers: Iterable[SimulatedWorker]) -> None:
        self.makespan = self.deliveries[-1][0] if self.deliveries else now
        self.peak_bytes = scheduler.summary().peak_bytes
        for worker in workers:
            self.worker_down(worker, now)

    def warm_up(self, gpus: int, share: float = 0.95) -> float:
        """Return when this share of the GPUs was busy for the first time."""
        return _first_busy(self._work, share * gpus)

    def warm_up_cpu(self, cpus: int, share: float = 0.95) -> float:
        """Return when this share of the CPUs was busy for the first time."""
        return _first_busy(self._all_work, share * cpus)

    def steady_until(self, gpus: int) -> float:
        """Return until when there was more than enough work left for every GPU."""
        begun = sorted(start for start, _ in self._work)
        return begun[max(0, len(begun) - 3 * gpus)]

    def gpu_busy(self, start: float, stop: float) -> float:
        """Return the share of their lives that GPU workers were busy between two moments."""
        lived = _clipped(self._lives, start, stop)
        return _clipped(self._work, start, stop) / lived if lived else 0.0

    def cpu_busy(self, cpus: float, start: float, stop: float) -> float:
        """Return the share of this many CPUs, one per call, that was busy between two moments."""
        return _clipped(self._all_work, start, stop) / (cpus * (stop - start))

    def driver_load(self, start: float, stop: float) -> float:
        """Return the share of the time in which the driver was busy between two moments."""
        return _clipped(self._driving, start, stop) / (stop - start)

    def gpu_capacity(self, gpus: float, start: float, stop: float) -> float:
        """Return the share of all GPUs that was busy; missing workers count as idle."""
        return _clipped(self._work, start, stop) / (gpus * (stop - start))

    def rate(self, start: float, stop: float) -> float:
        """Return the tasks delivered per second between two moments."""
        through = sum(tasks for now, tasks in self.deliveries if start <= now < stop)
        return through / (stop - start)


def _clipped(spans: Iterable[tuple[float, float]], start: float, stop: float) -> float:
    return sum(max(0.0, min(b, stop) - max(a, start)) for a, b in spans)


def _first_busy(spans: Sequence[tuple[float, float]], wanted: float) -> float:
    changes = [(start, 1) for start, _ in spans] + [(stop, -1) for _, stop in spans]
    busy = 0
    for now, change in sorted(changes):
        busy += change
        if busy >= wanted:
            return now
    return float("inf")
