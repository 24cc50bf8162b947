"""Shunning: a step that did not come up on a node is tried on others first."""

from __future__ import annotations

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.steps import could_hold

SHUN_S = 60.0
"""After so long it is tried there again: what was in the way may have gone."""

PAUSE_S = 1.0
"""The only node is tried again after this: others may be about to join."""


class Shunning:
    """One node with a full disk must not be the end of a step that comes up everywhere else."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self._until: dict[tuple[str, int], float] = {}

    def shun(self, station: Station, node: Node, reason: str) -> None:
        """Leave the node alone; for a moment only, if there is no other that would do."""
        if node.name not in self.floor.nodes:
            return
        first, need = station.spec.first, station.spec.need
        others = (n for n in self.floor.nodes.values() if n is not node)
        if not any(could_hold(n.capacity, need) and not n.shuns & station.bit for n in others):
            for name, other in [key for key in self._until if key[1] == first]:
                self._forgive(name, other)
            self._leave_alone(station, node, PAUSE_S)
            return
        self._leave_alone(station, node, SHUN_S)
        text = f"{node.name}: left alone by {station.spec.name} for {SHUN_S:g} s, for {reason}"
        self.floor.out.append(Explain("node", text, first))

    def _leave_alone(self, station: Station, node: Node, seconds: float) -> None:
        node.shuns |= station.bit
        node.fits &= ~station.bit
        self._until[node.name, station.spec.first] = self.floor.now + seconds

    def forgive(self) -> None:
        """Whatever was long enough ago."""
        for key in [key for key, until in self._until.items() if until <= self.floor.now]:
            self._forgive(*key)

    def _forgive(self, name: str, first: int) -> None:
        del self._until[name, first]
        node, station = self.floor.nodes.get(name), self.floor.stations.get(first)
        if node is None or station is None:
            return
        node.shuns &= ~station.bit
        if station.crew is self.floor.shared:
            node.fits |= station.bit
