"""Reserve the CPUs that a run uses, so that other jobs of a shared cluster leave them alone.

Workers ask Ray for no CPUs, because they take turns. What they use together is reserved once per
node, by a placement group. It takes no process, and ends with the run.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curator_ray.cluster.nodes import NODE_ID_LABEL, NodeFacts
from curator_ray.compat import FREE_RESOURCES

LOG = logging.getLogger("curator_core")

_CHECK_EVERY_S = 0.02
_ASK_LESS_AFTER_S = 1.0
_WARN_AFTER_S = 3.0
_EXPECTED_WITHIN_S = 5.0


@dataclass(eq=False)
class _Request:
    node: NodeFacts
    cpus: float
    since: float
    group: Any = None
    asked_at: float = 0.0
    has_warned: bool = False


class Reservations:
    """Requests CPUs of nodes, and reports which of them Ray has reserved for this run."""

    def __init__(self, cpus_of: Callable[[NodeFacts], float], *, is_exclusive: bool) -> None:
        """`cpus_of` says how many CPUs of a node to reserve.

        Give `is_exclusive` if nobody else uses the cluster: then nothing has to be reserved.
        """
        self._cpus_of = cpus_of
        self._is_exclusive = is_exclusive
        self._requests: dict[str, _Request] = {}
        self._held: dict[str, Any] = {}
        self._next_check = 0.0

    def request(self, node: NodeFacts) -> None:
        self._requests[node.node_id] = _Request(node, self._cpus_of(node), time.monotonic())

    def granted(self) -> list[tuple[NodeFacts, float]]:
        """Return the nodes granted since the previous call, with the CPUs reserved there."""
        now = time.monotonic()
        if not self._requests or now < self._next_check:
            return []
        self._next_check = now + _CHECK_EVERY_S
        granted = [request for request in self._requests.values() if self._is_granted(request, now)]
        for request in granted:
            del self._requests[request.node.node_id]
            if request.group is not None:
                self._held[request.node.node_id] = request.group
        return [(request.node, request.cpus) for request in granted]

    def expected(self) -> list[NodeFacts]:
        """Return the nodes that were requested just now, and are probably granted in a moment."""
        latest = time.monotonic() - _EXPECTED_WITHIN_S
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
        if request.group is not None and _is_created(request.group):
            return True
        if request.group is None:
            self._reserve(request, now)
        elif now - request.asked_at > _ASK_LESS_AFTER_S:
            self._ask_for_less(request, now)
        return False

    def _reserve(self, request: _Request, now: float) -> None:
        request.asked_at = now
        request.group = _create(request.node, request.cpus)

    def _ask_for_less(self, request: _Request, now: float) -> None:
        """Ask for the CPUs that are free. If Ray does not say how many, ask for half as many."""
        _remove(request.group)
        request.group = None
        free = _free_cpus(request.node)
        available = request.cpus / 2 if free is None else free
        request.cpus = min(self._cpus_of(request.node), max(1.0, float(int(available))))
        self._reserve(request, now)
        is_short = request.cpus <= 1 if free is None else free < 1
        if is_short and not request.has_warned and now - request.since >= _WARN_AFTER_S:
            request.has_warned = True
            known = "" if free is None else f" ({free:g} of {request.node.cpus:g} are free)"
            LOG.warning(
                "other jobs hold the CPUs of node %s%s; waiting for one", request.node.name, known
            )


def _create(node: NodeFacts, cpus: float) -> Any:
    from ray.util.placement_group import placement_group

    return placement_group([{"CPU": cpus}], bundle_label_selector=[{NODE_ID_LABEL: node.node_id}])


def _is_created(group: Any) -> bool:
    from ray.util.placement_group import placement_group_table

    return bool(placement_group_table(group).get("state") == "CREATED")


def _remove(group: Any) -> None:
    from ray.util.placement_group import remove_placement_group

    remove_placement_group(group)


def _free_cpus(node: NodeFacts) -> float | None:
    """Return the unreserved CPUs; None if this version of Ray does not report them."""
    free_resources = FREE_RESOURCES.get()
    if free_resources is None:
        return None
    return float(free_resources().get(node.node_id, {}).get("CPU", 0.0))
