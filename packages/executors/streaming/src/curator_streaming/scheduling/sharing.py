"""Sharing: how many shared workers there are."""

from __future__ import annotations

from math import ceil

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.staffing import SHARED_BACKLOG_S, Staffing
from curator_streaming.scheduling.stations import Station

_STRANDED_S = 0.3
_ENOUGH_EACH = 2
"""Tasks that wait for each worker: fewer are done before more workers are up."""


class Sharing:
    """Starts workers for the steps that have none of their own."""

    def __init__(self, floor: Floor, staffing: Staffing) -> None:
        self.floor = floor
        self.staffing = staffing

    @property
    def tells_at(self) -> float | None:
        """When a first call that has not ended by then will have told that more workers pay."""
        floor = self.floor
        times = [station.tells_at for station in floor.shared_stations]
        at = min((at for at in times if at is not None and at > floor.now), default=None)
        return None if at is None or floor.shared.staying >= floor.slots else at

    def start(self) -> None:
        """As many as the waiting work keeps busy, and no more processes than that."""
        floor = self.floor
        shared = floor.shared_stations
        wanted = min(floor.slots, self._wanted(shared))
        before = floor.shared.staying
        while floor.shared.staying < wanted and self.staffing.start_shared():
            pass
        for station in shared:
            if self._is_stranded(station):
                self._start_where_it_fits(station)
        if floor.shared.staying > before:
            more = floor.shared.staying - before
            reason = f"{more} shared worker{'s' * (more != 1)} started, for work waits"
            floor.out.append(Explain("scale", reason))

    def _is_stranded(self, station: Station) -> bool:
        """Whether it waits for long though none of the workers there are could ever take it."""
        floor = self.floor
        if station.calls or not floor.ready & station.bit:
            return False
        if floor.now - station.waiting_since < _STRANDED_S:
            return False
        return not any(
            _suits(w.node, station) or w.warm & station.bit for w in floor.shared.workers.values()
        )

    def _start_where_it_fits(self, station: Station) -> None:
        for node in self.floor.nodes.values():
            if _suits(node, station):
                self.staffing.start_shared_on(node)
                return

    def _wanted(self, shared: list[Station]) -> int:
        """A task that waits means work for all shared steps that it still has to pass.

        Until it is known how much: one worker for each core, and once the first calls have taken
        their time as many as the steps say fit.
        """
        floor = self.floor
        waiting = sum(s.queue.tasks + s.calls for s in shared)
        at_once = floor.cores
        if waiting >= _ENOUGH_EACH * floor.slots and any(s.takes_time(floor.now) for s in shared):
            at_once = floor.slots
        seconds = rest = 0.0
        for station in reversed(floor.stations.values()):
            rest *= station.ratio
            if station.crew is floor.shared:
                rest += station.trusted_cost(floor.now)
                seconds += station.queue.tasks * rest
        return max(1 if shared else 0, min(waiting, max(at_once, ceil(seconds / SHARED_BACKLOG_S))))


def _suits(node: Node, station: Station) -> bool:
    return bool(node.fits & station.bit) and station.spec.need.memory <= node.memory
