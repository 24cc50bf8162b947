"""Lacking: steps whose hardware has gone in mid-run. They wait, it is said, and not for ever."""

from __future__ import annotations

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.steps import could_hold


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
                self._say(station, "and no node has that now: it waits")
            elif self.floor.now - station.lacks_since >= self.floor.settings.shrink_limit_s:
                return station
            elif self._is_time_again(station):
                self._say(station, "and still no node has that: it waits")
        return None

    def _is_held_up(self, station: Station) -> bool:
        floor = self.floor
        if any(could_hold(node.capacity, station.spec.need) for node in floor.nodes.values()):
            return False
        return station.has_work or (not floor.nodes and station is floor.first)

    def _is_time_again(self, station: Station) -> bool:
        since = self.floor.now - self._said[station.spec.first]
        return since >= self.floor.settings.remind_s

    def _go_on(self, station: Station) -> None:
        if station.lacks_since is not None:
            station.lacks_since = None
            reason = f"{station.spec.name} need not wait any more"
            self.floor.out.append(Explain("wait", reason, station.spec.first))

    def _say(self, station: Station, how: str) -> None:
        floor, spec = self.floor, station.spec
        self._said[spec.first] = floor.now
        left = floor.settings.shrink_limit_s - (floor.now - (station.lacks_since or floor.now))
        reason = f"{spec.name} needs {spec.need} on one node, {how} up to {left:.0f} s"
        floor.out.append(Explain("wait", reason, spec.first))
