"""Preparing: what it takes to set steps up, and how often that may fail."""

from __future__ import annotations

from curator_streaming.scheduling import events
from curator_streaming.scheduling.dispatching import Dispatching
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.shunning import Shunning
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.workers import Worker


class Preparing:
    """Learns from every set up; too many in a row that fail are the end of the run."""

    def __init__(self, floor: Floor, dispatching: Dispatching) -> None:
        self.floor = floor
        self._dispatching = dispatching
        self._failed_starts = 0
        """Shared workers in a row that did not even start."""

        self._killed_starts = 0
        """Workers in a row that were killed, maybe from outside, before a stage ran."""

        self._have_started = False
        self.shunning = Shunning(floor)

    def measured(self, event: events.SetUpMeasured) -> None:
        floor = self.floor
        station = floor.stations.get(event.first)
        worker = floor.workers.get(event.worker)
        if station is None:
            return
        station.failed_setups = self._killed_starts = 0
        station.all_setups_s += event.seconds
        station.setup_s = max(event.seconds, 0.5 * (station.setup_s or 0.0))
        if worker is not None and worker.setting_up & station.bit:
            self.is_done(worker, station)
        if station.crew is floor.shared:
            station.memory = max(station.memory, event.memory)
            if worker is not None and event.first in worker.holds:
                worker.node.memory -= max(0, event.memory - worker.holds[event.first])
                worker.holds[event.first] = max(worker.holds[event.first], event.memory)
            floor.open_to_cold(station)
            self._dispatching.wake(station)

    def is_done(self, worker: Worker, station: Station) -> None:
        worker.setting_up &= ~station.bit
        station.setting_up -= 1
        if station.setup_s is None:
            station.setup_s = 0.0
        if station.crew is self.floor.shared:
            self.floor.open_to_cold(station)

    def too_many_failed(self, first: int | None, node: Node, reason: str) -> str:
        """Count one more; what to say where it was one too many, and nobody came up."""
        station = None if first is None else self.floor.stations.get(first)
        if station is None:
            self._failed_starts += 1
            failed, name = self._failed_starts, "a worker"
            limit = self.floor.setup_limit(is_known=self._have_started)
        else:
            station.failed_setups += 1
            failed, name = station.failed_setups, station.spec.name
            limit = self.floor.setup_limit(is_known=station.setup_s is not None)
            self.shunning.shun(station, node, reason)
            if self._somebody_may_come_up(station, limit):
                return ""
        if failed < limit:
            return ""
        return f"{name} could not be set up {failed} times; last: {reason}"

    def too_many_killed(self, reason: str) -> str:
        """Count one more; what to say where it was one too many. It says nothing of any stage."""
        self._killed_starts += 1
        if self._killed_starts < self.floor.setup_limit(is_known=True):
            return ""
        return f"{self._killed_starts} workers in a row were killed as they started; last: {reason}"

    def has_started(self) -> None:
        """A shared worker came up: where that was possible once, it is likely to be so again."""
        self._failed_starts = self._killed_starts = 0
        self._have_started = True

    def _somebody_may_come_up(self, station: Station, limit: int) -> bool:
        """Whether it is set up somewhere, or is being set up elsewhere just now."""
        if station.warm > station.setting_up:
            return True
        is_bounded = station.failed_setups < 2 * limit
        return bool(station.warm) and (is_bounded or station.crew is not self.floor.shared)
