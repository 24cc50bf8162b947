"""Allocation: how many dedicated workers each step should have, so that none is the bottleneck."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from curator_streaming.scheduler.placement import NodeResources, find_node
from curator_streaming.scheduler.resources import NO_LIMIT, UNIT, Need


@dataclass(frozen=True, slots=True)
class StepDemand:
    """A step that wants workers: `weight` is its worker-seconds per source, `most` a limit."""

    first: int
    need: Need
    weight: float
    most: int
    is_fixed: bool = False
    """Whether the user asked for `most`, which comes before what is shared out."""

    is_spread: bool = False
    node_limit: int = NO_LIMIT


def allocate_fairly(
    nodes: Iterable[NodeResources], demands: Sequence[StepDemand]
) -> dict[int, int]:
    """Return the max-min fair numbers: each next worker goes to the slowest step.

    The nodes must be empty copies. Earlier demands come first if not every step gets a worker.
    """
    trial = list(nodes)
    searches = {demand.first: _NodeSearch(trial, demand) for demand in demands}
    counts = {demand.first: 0 for demand in demands}
    for demand in demands:
        if demand.most and searches[demand.first].place_one():
            counts[demand.first] = 1
    queue = [(_rate(d, 1), d.first, d) for d in demands if counts[d.first] and d.most > 1]
    heapify(queue)
    while queue:
        _, first, demand = heappop(queue)
        if not searches[first].place_one():
            continue
        counts[first] += 1
        if counts[first] < demand.most:
            heappush(queue, (_rate(demand, counts[first]), first, demand))
    return counts


def throughput(counts: Mapping[int, int], demands: Iterable[StepDemand]) -> float:
    """Return the sources per second that the slowest of these steps can process."""
    return min((_rate(d, counts[d.first]) for d in demands if not d.is_fixed), default=inf)


def _rate(demand: StepDemand, count: int) -> float:
    """Return the sources per second of this many workers; fixed numbers come first."""
    return -1.0 if demand.is_fixed else count / max(demand.weight, 1e-12)


class _NodeSearch:
    """Places workers of one step on nodes that only fill up.

    So a node without room needs no second look.
    """

    def __init__(self, nodes: Iterable[NodeResources], demand: StepDemand) -> None:
        self._demand = demand
        self._candidates = [(0.0, position, node) for position, node in enumerate(nodes)]

    def place_one(self) -> bool:
        demand, need = self._demand, self._demand.need
        while self._candidates:
            _, position, node = self._candidates[0]
            is_full = node.workers_of[demand.first] >= demand.node_limit
            grant = None if is_full else node.place(need)
            if grant is None:
                heappop(self._candidates)
                continue
            if not demand.is_spread and 0 < sum(s.units for s in grant.shares) < UNIT:
                found = find_node((n for _, _, n in self._candidates), need)
                node, grant = found or (node, grant)
            node.take(grant, 0 if need.is_special else need.cpus)
            node.workers_of[demand.first] += 1
            if demand.is_spread:
                level = node.fill_level(node.workers_of[demand.first], need)
                heapreplace(self._candidates, (level, position, node))
            return True
        return False
