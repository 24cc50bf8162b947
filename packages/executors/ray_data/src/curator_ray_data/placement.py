"""On which nodes operators run, while nodes join and leave."""

import logging
import time
from typing import TYPE_CHECKING, Any

from curator_ray.cluster.nodes import NodeChanges
from curator_ray.cluster.survey import Survey
from curator_ray.resources import eligible_nodes, excluded_nodes, max_workers_on

from curator_ray_data.plan import Operator

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_NODE_ID = "ray.io/node-id"
_POLL_S = 1.0


class Placement:
    """Keeps an operator that needs no GPU off GPU nodes, as long as other nodes can run it."""

    def __init__(self, operator: Operator, survey: Survey) -> None:
        self._operator = operator
        self._survey = survey
        self._is_restricted = False

    def options(self) -> dict[str, Any]:
        """Return Ray's options for the next task or actor."""
        off = excluded_nodes(self._operator.resources, self._survey.facts.nodes)
        if not off:
            return {}
        self._is_restricted = True
        # No fallback_strategy: Ray uses that as soon as the other nodes are busy.
        return {"label_selector": {_NODE_ID: f"!in({','.join(off)})"}}

    @property
    def is_lost(self) -> bool:
        """Whether workers wait for nodes that have left, although GPU nodes could run them."""
        nodes = self._survey.facts.nodes
        with_gpus = {node.node_id for node in nodes if node.gpus}
        possible = eligible_nodes(self._operator.resources, nodes, with_gpus)
        return self._is_restricted and bool(possible) and with_gpus.issuperset(possible)


class NodeWatch:
    """Reports nodes that join and leave. A private cluster does not change."""

    def __init__(self, run: "RemoteRun", survey: Survey) -> None:
        self._run = run
        self._survey = survey
        self._next_poll = 0.0

    def poll(self) -> NodeChanges:
        now = time.monotonic()
        if self._survey.is_exclusive or now < self._next_poll:
            return NodeChanges()
        self._next_poll = now + _POLL_S
        changes = self._survey.changes()
        for node in changes.left:
            self._run.events.emit("node_left", node=node.name)
        for node in changes.joined:
            self._run.events.emit("node_joined", node=node.name)
        if changes.left:
            self._warn_of_waiting_stages()
        return changes

    def _warn_of_waiting_stages(self) -> None:
        nodes = self._survey.facts.nodes
        for planned in self._run.worker_stages:
            if all(max_workers_on(planned.resources, node) == 0 for node in nodes):
                LOG.warning(
                    "ray_data: no node has what stage %r needs now; it waits until one joins",
                    planned.name,
                )
