"""Staffing: workers come and go. What they hold is taken and given back here, and only here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from curator_streaming.scheduling.actions import StartWorker, StopWorker
from curator_streaming.scheduling.dispatching import Dispatching
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.needs import UNIT, Grant
from curator_streaming.scheduling.nodes import Node, placed, without_cpus
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.workers import (
    LEAVING,
    STARTING,
    STOPPING,
    UP,
    Call,
    Crew,
    Worker,
)

SPARE_BYTES = 256 << 20
"""What a worker takes that has not set up anything, roughly."""

SHARED_BACKLOG_S = 0.5
"""More shared workers are started while each has more than this much work before it."""


class Staffing:
    """Starts workers where they fit, and lets them go."""

    def __init__(self, floor: Floor, dispatching: Dispatching) -> None:
        self.floor = floor
        self._dispatching = dispatching
        self._numbers = count(1)
        self.spare: Worker | None = None
        """A shared worker that is there, and gets no work before another one's place is free."""

        self._spare_is_up = False

    # Nodes

    def welcome(self, node: Node) -> None:
        floor = self.floor
        needs = [station.spec.need for station in floor.shared_stations]
        limit = floor.settings.shared_workers_per_node
        if needs:
            smallest = min((need.cpus for need in needs if need.cpus), default=UNIT)
            node.slots = max(1, node.cpus // smallest)
            node.slots = min(node.slots, limit) if limit else node.slots
        for station in floor.shared_stations:
            self.fit(node, station)
        floor.nodes[node.name] = node

    def fit(self, node: Node, station: Station) -> None:
        need = station.spec.need
        if need.cpus <= node.cpus and need.memory <= node.capacity.memory:
            node.fits |= station.bit

    # Coming

    def start_shared(self) -> bool:
        """One more shared worker, the spare one, or on the node that has most of its slots free."""
        if self.spare is not None:
            self._call_in(self.spare)
            return True
        nodes = [n for n in self.floor.nodes.values() if n.shared < n.slots and n.fits]
        if not nodes:
            return False
        self.start_shared_on(min(nodes, key=lambda n: n.shared / n.slots))
        return True

    def start_shared_on(self, node: Node) -> Worker:
        node.shared += 1
        return self._start(self.floor.shared, node, Grant())

    def start_spare(self, node: Node) -> None:
        self.spare = self.start_shared_on(node)
        self.floor.shared.spares += 1
        node.memory -= SPARE_BYTES

    def _call_in(self, spare: Worker) -> None:
        is_up = self._spare_is_up
        self._spare_no_more()
        if is_up:
            self.is_up(spare)

    def _spare_no_more(self) -> None:
        assert self.spare is not None
        self.spare.node.memory += SPARE_BYTES
        self.floor.shared.spares -= 1
        self.spare, self._spare_is_up = None, False

    def start_dedicated(self, station: Station, nodes: Sequence[Node]) -> Worker | None:
        """One more worker of this step, where it fits; None where it does not."""
        need = station.spec.need
        wanted = without_cpus(need) if station.takes_turns else need
        found = placed(nodes, wanted)
        if found is None:
            return None
        node, grant = found
        node.take(grant, self._promised(station))
        worker = self._start(station.crew, node, grant)
        worker.warm = worker.setting_up = station.bit
        station.warm += 1
        station.setting_up += 1
        return worker

    def free_memory(self, station: Station, nodes: Sequence[Node]) -> bool:
        """Let idle shared workers forget what they have set up, where that makes the room."""
        needed = station.spec.need.memory
        lacking = [node for node in nodes if needed and node.memory < needed]
        for node in lacking:
            idle = [w for w in self.floor.shared.workers.values() if w.node is node and not w.calls]
            spare = sum(sum(worker.holds.values()) for worker in idle)
            if node.memory + spare < needed:
                continue
            for worker in idle:
                for first in list(worker.holds):
                    self._dispatching.tear_down(worker, self.floor.stations[first])
            return True
        return False

    def _start(self, crew: Crew, node: Node, grant: Grant) -> Worker:
        floor = self.floor
        worker = Worker(next(self._numbers), node, crew, grant)
        worker.since = floor.now
        crew.workers[worker.id] = floor.workers[worker.id] = worker
        floor.out.append(StartWorker(worker.id, node.name, crew.first, grant))
        return worker

    def _promised(self, station: Station) -> int:
        need = station.spec.need
        if need.is_special or station.spec.num_workers is not None:
            return 0
        return need.cpus

    def is_up(self, worker: Worker) -> None:
        if worker is self.spare:
            self._spare_is_up = True
        elif worker.state == STARTING:
            worker.state = UP
            worker.up_at = self.floor.now
            worker.crew.up += 1
            self._dispatching.refill(worker)
        elif worker.state == LEAVING:
            worker.up_at = self.floor.now

    # Going

    def let_go(self, worker: Worker, reason: str) -> None:
        """No more calls for this worker; it is stopped when those it has are done."""
        if worker.state >= LEAVING:
            return
        self._count_out(worker)
        worker.state = LEAVING
        worker.leaving = reason
        self.stop_if_idle(worker)

    def stop_if_idle(self, worker: Worker) -> None:
        if worker.state == LEAVING and not worker.calls:
            worker.state = STOPPING
            self.floor.out.append(StopWorker(worker.id, worker.leaving))

    def stop_at_once(self, worker: Worker, reason: str) -> None:
        if worker.state < LEAVING:
            self._count_out(worker)
        worker.state = STOPPING
        self.floor.out.append(StopWorker(worker.id, reason, at_once=True))

    def is_starting(self, worker: Worker) -> bool:
        is_held = worker is self.spare and self._spare_is_up
        return worker.state == STARTING and not is_held

    def _count_out(self, worker: Worker) -> None:
        crew = worker.crew
        if worker is self.spare:
            self._spare_no_more()
        crew.withdraw(worker)
        crew.leaving += 1
        crew.up -= worker.state == UP
        worker.node.waiting.pop(worker, None)
        worker.node.pressing.pop(worker, None)

    def gone(self, worker: Worker) -> list[Call]:
        """Take a worker off the floor; what it had not finished is handed back, oldest first."""
        floor, node, crew = self.floor, worker.node, worker.crew
        if worker.state < LEAVING:
            self._count_out(worker)
        crew.leaving -= 1
        del crew.workers[worker.id], floor.workers[worker.id]
        node.free_cpus += worker.claim
        node.memory += sum(worker.holds.values())
        if crew.first is None:
            node.shared -= 1
        else:
            node.give_back(worker.grant, self._promised(floor.stations[crew.first]))
        for station in floor.stations.values():
            station.warm -= bool(worker.warm & station.bit)
            station.setting_up -= bool(worker.setting_up & station.bit)
        return list(worker.calls)
