"""Recycling: workers that are old, large or have done enough make place for new ones."""

from __future__ import annotations

from curator_core.model.usage import RECYCLED

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.staffing import Staffing
from curator_streaming.scheduling.workers import UP, Worker


class Recycling:
    """Replaces a few workers at a time. Each works on until its successor is up, where the
    hardware has room for both."""

    def __init__(self, floor: Floor, staffing: Staffing) -> None:
        settings = floor.settings
        self.floor = floor
        self.staffing = staffing
        self.is_on = bool(
            settings.worker_max_lifetime_s or settings.worker_max_tasks or settings.worker_max_rss
        )
        self._successors: dict[int, Worker] = {}
        self._retiring: dict[Worker, str] = {}
        self._not_before = 0.0

    def look_at(self, worker: Worker, rss: int) -> None:
        floor = self.floor
        if worker.state != UP or worker in self._retiring or floor.now < self._not_before:
            return
        reason = self._reason(worker, rss)
        crew = worker.crew
        if not reason or crew.leaving + len(self._retiring) >= max(1, crew.staying // 4):
            return
        self._not_before = floor.now + floor.settings.worker_restart_interval_s
        floor.out.append(Explain("recycle", f"worker {worker.id}: {reason}", crew.first))
        why = f"{RECYCLED}: {reason}"
        successor = self._successor_of(worker)
        if successor is None:
            self.staffing.let_go(worker, why)
        else:
            crew.retiring += 1
            self._retiring[worker] = why
            self._successors[successor.id] = worker

    def is_up(self, worker: Worker) -> None:
        """A successor is there: the old one may go."""
        old = self._successors.pop(worker.id, None)
        if old is not None and old in self._retiring:
            self.staffing.let_go(old, self._end_of(old))

    def forget(self, worker: Worker) -> None:
        if worker in self._retiring:
            self._end_of(worker)
        self.is_up(worker)

    def _end_of(self, worker: Worker) -> str:
        worker.crew.retiring -= 1
        return self._retiring.pop(worker)

    def _successor_of(self, worker: Worker) -> Worker | None:
        first = worker.crew.first
        if first is None:
            return self.staffing.start_shared_on(worker.node)
        station, nodes = self.floor.stations[first], self.floor.nodes.values()
        fit = [node for node in nodes if not node.shuns & station.bit]
        return self.staffing.start_dedicated(station, fit)

    def _reason(self, worker: Worker, rss: int) -> str:
        settings = self.floor.settings
        if 0 < settings.worker_max_tasks <= worker.tasks:
            return f"it has done {worker.tasks} tasks"
        if 0 < settings.worker_max_rss <= rss:
            return f"it has grown to {rss >> 20} MB"
        age = self.floor.now - worker.up_at
        if 0 < settings.worker_max_lifetime_s <= age:
            return f"it is {age:.0f} s old"
        return ""
