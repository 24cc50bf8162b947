"""Reservations: the CPUs that a run uses are held in Ray's own books, so that others keep theirs.

Workers ask Ray for no CPUs, since they take turns. What they stand for together
is reserved once for each node, by a placement group: it takes no process, and ends with the run.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curator_ray.facts import NodeFacts

LOG = logging.getLogger("curator_core")

_NODE_LABEL = "ray.io/node-id"
_LOOK_EVERY_S = 0.02
_PATIENCE_S = 1.0
"""How long all that is wanted of a node is waited for, before less is taken."""

_TELL_AFTER_S = 3.0
_SOON_S = 5.0


@dataclass(eq=False)
class _Wish:
    node: NodeFacts
    cpus: float
    since: float
    group: Any = None
    asked_at: float = 0.0
    is_told: bool = False


class Reservations:
    """Nodes are asked for, and granted when Ray has set their CPUs aside for this run."""

    def __init__(self, cpus_of: Callable[[NodeFacts], float], *, is_alone: bool) -> None:
        """`cpus_of`: how many CPUs of a node are wanted; `is_alone`: nobody else uses the cluster.

        Then nothing needs to be reserved.
        """
        self._cpus_of = cpus_of
        self._is_alone = is_alone
        self._wishes: dict[str, _Wish] = {}
        self._held: dict[str, Any] = {}
        self._next_look = 0.0

    def want(self, node: NodeFacts) -> None:
        self._wishes[node.node_id] = _Wish(node, self._cpus_of(node), time.monotonic())

    def granted(self) -> list[tuple[NodeFacts, float]]:
        """Nodes that may be used from now on, each told once with the CPUs that are ours there."""
        now = time.monotonic()
        if not self._wishes or now < self._next_look:
            return []
        self._next_look = now + _LOOK_EVERY_S
        found = [wish for wish in self._wishes.values() if self._is_granted(wish, now)]
        for wish in found:
            del self._wishes[wish.node.node_id]
            if wish.group is not None:
                self._held[wish.node.node_id] = wish.group
        return [(wish.node, wish.cpus) for wish in found]

    def expected(self) -> list[NodeFacts]:
        """Nodes that were asked for just now, and are likely to be granted in a moment."""
        latest = time.monotonic() - _SOON_S
        return [wish.node for wish in self._wishes.values() if wish.since > latest]

    def gone(self, node_id: str) -> None:
        wish = self._wishes.pop(node_id, None)
        for group in (self._held.pop(node_id, None), wish.group if wish else None):
            if group is not None:
                _remove(group)

    def close(self) -> None:
        for node_id in [*self._wishes, *self._held]:
            self.gone(node_id)

    def _is_granted(self, wish: _Wish, now: float) -> bool:
        if self._is_alone or not wish.cpus:
            return True
        if wish.group is not None and _is_there(wish.group):
            return True
        if wish.group is None:
            self._reserve(wish, now)
        elif now - wish.asked_at > _PATIENCE_S:
            _remove(wish.group)
            wish.group = None
            free = _free_cpus(wish.node)
            wish.cpus = min(self._cpus_of(wish.node), max(1.0, float(int(free))))
            self._reserve(wish, now)
            self._tell(wish, free, now)
        return False

    def _reserve(self, wish: _Wish, now: float) -> None:
        from ray.util.placement_group import placement_group

        wish.asked_at = now
        wish.group = placement_group(
            [{"CPU": wish.cpus}],
            bundle_label_selector=[{_NODE_LABEL: wish.node.node_id}],
        )

    def _tell(self, wish: _Wish, free: float, now: float) -> None:
        if wish.is_told or free >= 1 or now - wish.since < _TELL_AFTER_S:
            return
        wish.is_told = True
        LOG.warning(
            "other jobs hold the CPUs of node %s (%g of %g are free); waiting for one",
            wish.node.name, free, wish.node.cpus,
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
