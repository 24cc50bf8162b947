"""Workers, the calls they have, and the crews they form."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from curator_streaming.scheduling.needs import Grant

if TYPE_CHECKING:
    from curator_streaming.scheduling.nodes import Node
    from curator_streaming.scheduling.queues import Stretch
    from curator_streaming.scheduling.stations import Station

STARTING, UP, LEAVING, STOPPING = range(4)
"""LEAVING gets no more calls, and is stopped after its last one."""


class Call:
    """Work that a worker has been given and not yet finished."""

    __slots__ = (
        "alone", "came", "condemned", "expected", "given", "id", "last", "number_ahead", "paused",
        "reserve", "station", "stretches", "tasks", "worker",
    )  # fmt: skip

    def __init__(self, id: int, worker: Worker, station: Station, stretches: list[Stretch]) -> None:
        self.id = id
        self.worker = worker
        self.station = station
        self.last = station.spec.last
        self.stretches = stretches
        self.tasks = 0
        self.reserve = 0
        self.expected = 0.0
        self.given = 0
        self.came = 0
        self.alone = self.condemned = self.paused = False
        self.number_ahead = len(worker.calls)


class Worker:
    """A process that runs calls one after the other."""

    __slots__ = (
        "calls", "claim", "crew", "grant", "holds", "id", "leaving", "node", "setting_up", "since",
        "state", "tasks", "tier", "up_at", "warm",
    )  # fmt: skip

    def __init__(self, id: int, node: Node, crew: Crew, grant: Grant) -> None:
        self.id = id
        self.node = node
        self.crew = crew
        self.grant = grant
        self.calls: deque[Call] = deque()
        self.state = STARTING
        self.claim = 0
        self.warm = 0
        """The steps it has set up, as bits."""

        self.setting_up = 0
        self.holds: dict[int, int] = {}
        """Bytes held by each step that is set up, the one used longest ago first."""

        self.tasks = 0
        self.since = self.up_at = 0.0
        self.tier = -1
        self.leaving = ""


class Crew:
    """The workers that take the same work: all shared ones, or those of one dedicated step."""

    __slots__ = ("first", "leaving", "open", "retiring", "slots", "spares", "up", "workers")

    def __init__(self, first: int | None, slots: int) -> None:
        self.first = first
        self.slots = slots
        self.workers: dict[int, Worker] = {}
        self.up = 0
        self.leaving = 0
        self.spares = 0
        self.retiring = 0
        """Those at work until their successors are up."""

        self.open: tuple[dict[str, dict[Worker, None]], ...] = ({}, {})
        """Workers that want work: those without any, then those that could take one more call."""

    @property
    def staying(self) -> int:
        """How many there are, without those on their way out and those only at hand."""
        return len(self.workers) - self.leaving - self.retiring - self.spares

    def offer(self, worker: Worker) -> None:
        """This worker could do more."""
        tier = 1 if worker.calls else 0
        if worker.tier == tier:
            return
        self.withdraw(worker)
        worker.tier = tier
        self.open[tier].setdefault(worker.node.name, {})[worker] = None

    def withdraw(self, worker: Worker) -> None:
        if worker.tier < 0:
            return
        places = self.open[worker.tier]
        here = places[worker.node.name]
        del here[worker]
        if not here:
            del places[worker.node.name]
        worker.tier = -1

    def willing(self, node: str) -> Worker | None:
        """A worker that wants work: an idle one first, on this node where there is one."""
        for places in self.open:
            if places:
                here = places.get(node)
                if here is None:
                    here = next(iter(places.values()))
                return next(iter(here))
        return None

    @property
    def idle(self) -> int:
        return sum(len(here) for here in self.open[0].values())
