"""Lacking: steps whose hardware has gone in mid-run. They wait, it is said, and not for ever."""

from __future__ import annotations

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.steps import could_hold

_GRACE_S = 1.5
"""Nodes are asked for one after the other: what is not there at first may be about to join."""


class Lacking:
    """Notices what no node could hold any more, and when it can be held again."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self._said: dict[int, float] = {}
        """When it was said last that this step waits."""

    def waited_too_long(self) -> Station | None:
        """The step that has waited for as long as it may, if one has."""
        for station in self.floor.stations.values():
            if not self._is_held_up(station):
                self._go_on(station)
            elif station.lacks_since is None:
                station.lacks_since = self.floor.now
            elif self.floor.now - station.lacks_since >= self.floor.settings.shrink_limit_s:
                return station
            elif self._is_time(station):
                again = station.spec.first in self._said
                how = "and still no node has that" if again else "and no node has that now"
                self._say(station, f"{how}: it waits")
        return None

    def _is_held_up(self, station: Station) -> bool:
        floor = self.floor
        if any(could_hold(node.capacity, station.spec.need) for node in floor.nodes.values()):
            return False
        return station.has_work or (not floor.nodes and station is floor.first)

    def _is_time(self, station: Station) -> bool:
        now, said = self.floor.now, self._said.get(station.spec.first)
        if said is None:
            return now - (station.lacks_since or now) >= _GRACE_S
        return now - said >= self.floor.settings.remind_s

    def _go_on(self, station: Station) -> None:
        station.lacks_since = None
        if self._said.pop(station.spec.first, None) is not None:
            reason = f"{station.spec.name} no longer waits"
            self.floor.out.append(Explain("wait", reason, station.spec.first))

    def _say(self, station: Station, how: str) -> None:
        floor, spec = self.floor, station.spec
        self._said[spec.first] = floor.now
        left = floor.settings.shrink_limit_s - (floor.now - (station.lacks_since or floor.now))
        reason = f"{spec.name} needs {spec.need} on one node, {how} up to {left:.0f} s"
        floor.out.append(Explain("wait", reason, spec.first))
