"""Waits: what workers are waiting for, looked at with every tick."""

from __future__ import annotations

from dataclasses import dataclass, field

from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.needs import UNIT
from curator_streaming.scheduling.workers import Crew


@dataclass(slots=True)
class CrewTimes:
    """Seconds of a crew's workers, added up: there at all, and waiting for what."""

    there: float = 0.0
    input: float = 0.0
    room: float = 0.0
    cpus: float = 0.0
    most: int = 0
    """How many workers there were at most."""


@dataclass(slots=True)
class Waits:
    """Looks at everybody now and then, and counts the time until the next look."""

    floor: Floor
    seconds: float = 0.0
    """How long there was work, or work was awaited, with workers there to do it."""

    cpu_seconds: float = 0.0
    """The same, for each CPU there was."""

    sources: float = 0.0
    """How long workers were idle because sources that were asked for did not come."""

    consumer: float = 0.0
    """How long nothing could be begun because final outputs were not taken."""

    crews: dict[int | None, CrewTimes] = field(default_factory=dict)
    _last: float | None = None

    def look(self, sources_awaited: int) -> None:
        """`sources_awaited`: how many were asked for and are still to come."""
        floor = self.floor
        before, self._last = self._last, floor.now
        is_waiting = sources_awaited > 0 and floor.first.queue.tasks == 0
        if before is None or not (floor.active or is_waiting):
            return
        seconds = floor.now - before
        crews = [floor.shared, *(s.crew for s in floor.stations.values() if s.spec.is_dedicated)]
        if not any(crew.up for crew in crews):
            return
        self.seconds += seconds
        self.cpu_seconds += seconds * sum(node.cpus for node in floor.nodes.values()) / UNIT
        for crew in crews:
            self._look_at(crew, seconds)
        if is_waiting and floor.first.crew.idle:
            self.sources += seconds
        if self._is_kept_waiting():
            self.consumer += seconds

    def of(self, crew: Crew) -> CrewTimes:
        return self.crews.setdefault(crew.first, CrewTimes())

    def _look_at(self, crew: Crew, seconds: float) -> None:
        times = self.of(crew)
        times.most = max(times.most, crew.up)
        times.there += crew.up * seconds
        bits = sum(s.bit for s in self.floor.stations.values() if s.crew is crew)
        if self.floor.blocked & bits:
            times.room += crew.idle * seconds
        else:
            times.input += crew.idle * seconds
        lining_up = (
            worker
            for node in self.floor.nodes.values()
            for worker in (*node.pressing, *node.waiting)
            if worker.crew is crew and not worker.calls
        )
        times.cpus += sum(1 for _ in lining_up) * seconds

    def _is_kept_waiting(self) -> bool:
        floor = self.floor
        return bool(floor.blocked) and (
            floor.boundaries[floor.length] > 0.5 * floor.boundary_limits[floor.length]
        )
