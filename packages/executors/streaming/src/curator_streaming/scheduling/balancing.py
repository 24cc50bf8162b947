"""Balancing: how many workers each dedicated step should have, so that none holds up the line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf

from curator_streaming.scheduling.needs import Need
from curator_streaming.scheduling.nodes import Node, placed


@dataclass(frozen=True, slots=True)
class Claimant:
    """A step that wants hardware. `weight`: its worker-seconds for one source; `most`: a limit."""

    first: int
    need: Need
    weight: float
    most: int
    is_fixed: bool = False
    """Whether `most` was asked for: it comes before what is shared out."""


def fair_counts(nodes: Iterable[Node], claimants: Sequence[Claimant]) -> dict[int, int]:
    """Max-min fair: one worker after the other goes to the step that would hold up the line.

    The nodes must be empty copies. Claimants come in the order of their right to a first worker.
    """
    trial = list(nodes)
    counts = {claimant.first: 0 for claimant in claimants}
    for claimant in claimants:
        if claimant.most and _fill(trial, claimant.need):
            counts[claimant.first] = 1
    queue = [(_turn(c, 1), c.first, c) for c in claimants if counts[c.first] and c.most > 1]
    heapify(queue)
    while queue:
        _, first, claimant = heappop(queue)
        if not _fill(trial, claimant.need):
            continue
        counts[first] += 1
        if counts[first] < claimant.most:
            heappush(queue, (_turn(claimant, counts[first]), first, claimant))
    return counts


def _turn(claimant: Claimant, count: int) -> float:
    """Sources per second that so many workers let through; whoever has least is next."""
    return -1.0 if claimant.is_fixed else count / max(claimant.weight, 1e-12)


def _fill(trial: list[Node], need: Need) -> bool:
    found = placed(trial, need)
    if found is None:
        return False
    node, grant = found
    node.take(grant, 0 if need.is_special else need.cpus)
    if node.devices and need.gpus and not any(node.devices.values()):
        trial.remove(node)
        trial.append(node)  # full ones last: the search ends at the first that fits
    return True


def pace(counts: Mapping[int, int], claimants: Iterable[Claimant]) -> float:
    """Sources per second that the slowest of these steps lets through."""
    return min((_turn(c, counts[c.first]) for c in claimants if not c.is_fixed), default=inf)
