"""Allocation: how many dedicated workers each step should have, so that none is the bottleneck."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf

from curator_streaming.scheduler.placement import NodeResources, find_node
from curator_streaming.scheduler.resources import Need


@dataclass(frozen=True, slots=True)
class StepDemand:
    """A step that wants workers: `weight` is its worker-seconds per source, `most` a limit."""

    first: int
    need: Need
    weight: float
    most: int
    is_fixed: bool = False
    """Whether the user asked for `most`, which comes before what is shared out."""


def allocate_fairly(
    nodes: Iterable[NodeResources], demands: Sequence[StepDemand]
) -> dict[int, int]:
    """Return the max-min fair numbers: each next worker goes to the slowest step.

    The nodes must be empty copies. Earlier demands come first if not every step gets a worker.
    """
    trial = list(nodes)
    counts = {demand.first: 0 for demand in demands}
    for demand in demands:
        if demand.most and _take_one(trial, demand.need):
            counts[demand.first] = 1
    queue = [(_rate(d, 1), d.first, d) for d in demands if counts[d.first] and d.most > 1]
    heapify(queue)
    while queue:
        _, first, demand = heappop(queue)
        if not _take_one(trial, demand.need):
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


def _take_one(trial: list[NodeResources], need: Need) -> bool:
    found = find_node(trial, need)
    if found is None:
        return False
    node, grant = found
    node.take(grant, 0 if need.is_special else need.cpus)
    if node.free_devices and need.gpus and not any(node.free_devices.values()):
        trial.remove(node)
        trial.append(node)  # full ones last: the search ends at the first that fits
    return True
