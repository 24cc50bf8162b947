"""Sparing: while shared workers keep dying, one more is started than is needed, to be at hand."""

from __future__ import annotations

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.staffing import SPARE_BYTES, Staffing
from curator_streaming.scheduling.workers import Worker

CALM_S = 60.0
"""After so long without a death nobody needs to be at hand."""


class Sparing:
    """A process takes a second to start: whoever takes the place of a dead one should be there."""

    def __init__(self, floor: Floor, staffing: Staffing) -> None:
        self.floor = floor
        self.staffing = staffing
        self._until = 0.0
        self._node = ""

    def died(self, worker: Worker) -> None:
        if worker.crew is self.floor.shared:
            self._until = self.floor.now + CALM_S
            self._node = worker.node.name

    def look(self) -> None:
        """Start a spare worker where one died; let it go when nobody dies any more."""
        floor, spare = self.floor, self.staffing.spare
        if floor.now >= self._until:
            if spare is not None:
                self.staffing.let_go(spare, f"nobody has died for {CALM_S:g} s")
            return
        node = floor.nodes.get(self._node)
        if spare is not None or node is None or node.memory < SPARE_BYTES:
            return
        self.staffing.start_spare(node)
        floor.out.append(Explain("scale", "a spare shared worker started, for one has died"))
