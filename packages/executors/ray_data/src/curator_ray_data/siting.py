"""Siting: on which nodes operators run, while nodes come and go."""

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curator_ray.cluster.nodes import NodeChanges
from curator_ray.cluster.survey import Survey
from curator_ray.resources import eligible_nodes, excluded_nodes, max_workers_on

from curator_ray_data.operators import Operator
from curator_ray_data.sharing import Share, most_workers

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_NODE_ID = "ray.io/node-id"
_LOOK_EVERY_S = 1.0


class Site:
    """The nodes of one operator: none with GPUs where it needs none, as long as others hold it."""

    def __init__(self, operator: Operator, share: Share, survey: Survey) -> None:
        self._operator = operator
        self._share = share
        self._survey = survey
        self._is_bound = False

    def options(self) -> dict[str, Any]:
        """Ray's options for the next call, or actor, which say where it may be."""
        off = self._off()
        if not off:
            return {}
        self._is_bound = True
        # Not with a fallback_strategy: Ray takes that as soon as the other nodes are busy.
        return {"label_selector": {_NODE_ID: f"!in({','.join(off)})"}}

    @property
    def most(self) -> int:
        """How many workers there may be by now."""
        return most_workers(self._operator, self._share.size, self._survey.facts)

    @property
    def is_lost(self) -> bool:
        """Whether workers wait for nodes that are gone, though those with GPUs could hold them."""
        nodes = self._survey.facts.nodes
        with_gpus = {node.node_id for node in nodes if node.gpus}
        held = eligible_nodes(self._operator.resources, nodes, with_gpus)
        return self._is_bound and bool(held) and with_gpus.issuperset(held)

    def _off(self) -> Sequence[str]:
        return excluded_nodes(self._operator.resources, self._survey.facts.nodes)


class Lookout:
    """Looks now and then for nodes that have come or gone; a private cluster stays as it is."""

    def __init__(self, run: "RemoteRun", survey: Survey) -> None:
        self._run = run
        self._survey = survey
        self._next = 0.0

    def look(self) -> NodeChanges:
        now = time.monotonic()
        if self._survey.is_exclusive or now < self._next:
            return NodeChanges()
        self._next = now + _LOOK_EVERY_S
        changes = self._survey.changes()
        for node in changes.left:
            self._run.events.emit("node_left", node=node.name)
        for node in changes.joined:
            self._run.events.emit("node_joined", node=node.name)
        if changes.left:
            self._tell_of_lack()
        return changes

    def _tell_of_lack(self) -> None:
        facts = self._survey.facts
        for planned in self._run.worker_stages:
            if all(max_workers_on(planned.resources, node) == 0 for node in facts.nodes):
                LOG.warning(
                    "ray_data: no node has what stage %r needs now; it waits until one joins",
                    planned.name,
                )
