"""Recycling: workers that are old, large or have done enough make place for new ones."""

from __future__ import annotations

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.staffing import Staffing
from curator_streaming.scheduling.workers import UP, Worker

RECYCLED = "was recycled: "
"""How the reason begins for which such a worker is stopped."""


class Recycling:
    """Replaces a few workers at a time; a shared one works on until its successor is up."""

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
        successor = None
        if crew.first is None:
            successor = self.staffing.start_shared_on(worker.node)
        if successor is None:
            self.staffing.let_go(worker, RECYCLED + reason)
        else:
            self._retiring[worker] = RECYCLED + reason
            self._successors[successor.id] = worker

    def is_up(self, worker: Worker) -> None:
        """A successor is there: the old one may go."""
        old = self._successors.pop(worker.id, None)
        if old is not None and old in self._retiring:
            self.staffing.let_go(old, self._retiring.pop(old))

    def forget(self, worker: Worker) -> None:
        self._retiring.pop(worker, None)
        self.is_up(worker)

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
