"""Reservations: the CPUs that a run uses are held in Ray's own books, so that others keep theirs.

Workers ask Ray for no CPUs, since they take turns. What they stand for together
is reserved once for each node, by a placement group: it takes no process, and ends with the run.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curator_ray.cluster.nodes import NodeFacts

LOG = logging.getLogger("curator_core")

_NODE_LABEL = "ray.io/node-id"
_LOOK_EVERY_S = 0.02
_PATIENCE_S = 1.0
"""How long all that is wanted of a node is waited for, before less is taken."""

_TELL_AFTER_S = 3.0
_SOON_S = 5.0


@dataclass(eq=False)
class _Request:
    node: NodeFacts
    cpus: float
    since: float
    group: Any = None
    asked_at: float = 0.0
    is_told: bool = False


class Reservations:
    """Nodes are asked for, and granted when Ray has set their CPUs aside for this run."""

    def __init__(self, cpus_of: Callable[[NodeFacts], float], *, is_exclusive: bool) -> None:
        """`cpus_of` says how many CPUs of a node to reserve.

        Give `is_exclusive` if nobody else uses the cluster: then nothing needs to be reserved.
        """
        self._cpus_of = cpus_of
        self._is_exclusive = is_exclusive
        self._requests: dict[str, _Request] = {}
        self._held: dict[str, Any] = {}
        self._next_look = 0.0

    def request(self, node: NodeFacts) -> None:
        self._requests[node.node_id] = _Request(node, self._cpus_of(node), time.monotonic())

    def granted(self) -> list[tuple[NodeFacts, float]]:
        """Nodes that may be used from now on, each told once with the CPUs that are ours there."""
        now = time.monotonic()
        if not self._requests or now < self._next_look:
            return []
        self._next_look = now + _LOOK_EVERY_S
        found = [request for request in self._requests.values() if self._is_granted(request, now)]
        for request in found:
            del self._requests[request.node.node_id]
            if request.group is not None:
                self._held[request.node.node_id] = request.group
        return [(request.node, request.cpus) for request in found]

    def expected(self) -> list[NodeFacts]:
        """Nodes that were asked for just now, and are likely to be granted in a moment."""
        latest = time.monotonic() - _SOON_S
        return [request.node for request in self._requests.values() if request.since > latest]

    def release(self, node_id: str) -> None:
        request = self._requests.pop(node_id, None)
        for group in (self._held.pop(node_id, None), request.group if request else None):
            if group is not None:
                _remove(group)

    def close(self) -> None:
        for node_id in [*self._requests, *self._held]:
            self.release(node_id)

    def _is_granted(self, request: _Request, now: float) -> bool:
        if self._is_exclusive or not request.cpus:
            return True
        if request.group is not None and _is_there(request.group):
            return True
        if request.group is None:
            self._reserve(request, now)
        elif now - request.asked_at > _PATIENCE_S:
            _remove(request.group)
            request.group = None
            free = _free_cpus(request.node)
            request.cpus = min(self._cpus_of(request.node), max(1.0, float(int(free))))
            self._reserve(request, now)
            self._tell(request, free, now)
        return False

    def _reserve(self, request: _Request, now: float) -> None:
        from ray.util.placement_group import placement_group

        request.asked_at = now
        request.group = placement_group(
            [{"CPU": request.cpus}],
            bundle_label_selector=[{_NODE_LABEL: request.node.node_id}],
        )

    def _tell(self, request: _Request, free: float, now: float) -> None:
        if request.is_told or free >= 1 or now - request.since < _TELL_AFTER_S:
            return
        request.is_told = True
        LOG.warning(
            "other jobs hold the CPUs of node %s (%g of %g are free); waiting for one",
            request.node.name, free, request.node.cpus,
        )  # fmt: skip


def _is_there(group: Any) -> bool:
    from ray.util.placement_group import placement_group_table

    return bool(placement_group_table(group).get("state") == "CREATED")


def _remove(group: Any) -> None:
    from ray.util.placement_group import remove_placement_group

    remove_placement_group(group)


def _free_cpus(node: NodeFacts) -> float:
    from ray._private.state import available_resources_per_node

    there = available_resources_per_node()  # type: ignore[no-untyped-call]
    return float(there.get(node.node_id, {}).get("CPU", 0.0))
