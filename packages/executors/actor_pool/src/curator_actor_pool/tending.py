"""Tending: what a run looks after now and then, whichever stage is at work."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from curator_core import PlannedStage
from curator_core.errors import ResourceError
from curator_core.model.snapshot import Queue
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.cluster.survey import Survey
from curator_ray.reservations import Reservations
from curator_ray.resources import eligible_nodes
from curator_ray.worker.deaths import WorkerDeath

from curator_actor_pool.options import ActorPoolOptions
from curator_actor_pool.places import kept_free
from curator_actor_pool.pools import Member, Pools
from curator_actor_pool.scenes import Scene

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_LOOK_EVERY_S = 0.1
_SURVEY_EVERY_S = 1.0
_GRACE_S = 1.5
"""Nodes are asked for one after the other: what is not there at first may be about to join."""


class OverdueError(Exception):
    """The run was asked to stop, and its time to finish what is under way is over."""


class Tending:
    """Nodes that come and go, the clock of the run, and the wish to stop."""

    def __init__(
        self, run: "RemoteRun", options: ActorPoolOptions, survey: Survey, pools: Pools
    ) -> None:
        self._run = run
        self._scene = run.executor_state = Scene(pools)
        self._options = options
        self._survey = survey
        self._pools = pools
        ours = kept_free(survey.facts.nodes, options.reserved_cpus, options.reserved_gpus)
        self._ours = {node.node_id: node for node in ours}
        self._reservations = Reservations(self._cpus_of, is_exclusive=survey.is_exclusive)
        self._next_look = self._next_survey = 0.0
        self._lacks_since: float | None = None
        self._is_told = False
        for node in survey.facts.nodes:
            self._welcome(node)

    @property
    def is_stopping(self) -> bool:
        return self._run.stopping.is_requested

    def close(self) -> None:
        self._reservations.close()

    def show(self, planned: PlannedStage, waiting: Queue) -> None:
        """What waits for the stage whose turn it is."""
        self._scene.stage_index, self._scene.waiting = planned.index, waiting

    def look(self, planned: PlannedStage, gone: Callable[[Member, WorkerDeath], None]) -> None:
        """`planned` is at work; `gone` is told of its actors on nodes that have left."""
        for node, cpus in self._reservations.granted():
            ours = self._ours.get(node.node_id, node)
            self._pools.use(replace(ours, cpus=cpus))
        self._pools.expect(self._reservations.expected())
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY_S
        if self._run.stopping.is_overdue:
            raise OverdueError
        self._run.tick()
        self._pools.look_after()
        if now >= self._next_survey:
            self._next_survey = now + _SURVEY_EVERY_S
            self._survey_nodes(gone)
            self._look_for_room(planned, now)

    def _cpus_of(self, node: NodeFacts) -> float:
        return self._ours.get(node.node_id, node).cpus

    def _welcome(self, node: NodeFacts) -> None:
        if node.gpus:
            self._pools.with_gpus.add(node.node_id)
        self._reservations.request(node)

    def _survey_nodes(self, gone: Callable[[Member, WorkerDeath], None]) -> None:
        changes = self._survey.changes()
        for node in changes.left:
            self._reservations.release(node.node_id)
            self._pools.nodes.pop(node.node_id, None)
            self._run.events.emit("node_left", node=node.name)
            for member in [m for m in self._pools.members.values() if m.node == node.node_id]:
                gone(member, WorkerDeath("was on a node that is gone"))
        for node in changes.joined:
            self._run.events.emit("node_joined", node=node.name)
            self._welcome(node)

    def _look_for_room(self, planned: PlannedStage, now: float) -> None:
        """A stage whose hardware has gone waits, it is said, and not for ever."""
        nodes = [self._ours.get(node.node_id, node) for node in self._survey.facts.nodes]
        wanted = planned.resources
        if self._pools.of(planned) or eligible_nodes(wanted, nodes, self._pools.with_gpus):
            self._lacks_since, self._is_told = None, False
            return
        self._lacks_since = self._lacks_since or now
        waited, limit = now - self._lacks_since, self._options.wait_limit_s
        there = self._survey.facts.describe() or "no node"
        if waited > limit:
            raise ResourceError(
                f"stage {planned.name!r} waited for {limit:g} s for a node with what it needs "
                f"({wanted}), but the cluster has {there}; what is finished is kept, "
                "and the same command does the rest"
            )
        if waited > _GRACE_S and not self._is_told:
            self._is_told = True
            LOG.warning(
                "actor pool: no node has what stage %r needs now; it waits up to %g s",
                planned.name, limit,
            )  # fmt: skip
