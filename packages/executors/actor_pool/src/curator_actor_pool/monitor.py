"""What a run checks regularly: its nodes, actors that do not start or end, a request to stop."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from curator_core import PlannedStage
from curator_core.errors import ResourceError
from curator_core.model.snapshot import ExecutorState, Queue
from curator_ray.cluster.autoscaler import NodeRequests
from curator_ray.cluster.node_usage import NodeUsageMonitor
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.cluster.object_store import StoreMonitor
from curator_ray.cluster.survey import Survey
from curator_ray.reservations import Reservations
from curator_ray.resources import eligible_nodes
from curator_ray.stalls import BusyWorker, StallMonitor
from curator_ray.worker.deaths import NODE_LOST, WorkerDeath

from curator_actor_pool.options import ActorPoolOptions
from curator_actor_pool.placement import subtract_reserved
from curator_actor_pool.pools import ActorPools, PoolActor

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_POLL_S = 0.1
_POLL_NODES_S = 1.0
_GRACE_S = 1.5
"""Nodes are requested one by one: one that is missing at first may be about to join."""

OnDeath = Callable[[PoolActor, WorkerDeath], None]


class OverdueError(Exception):
    """The run was asked to stop, and its time to finish current work is over."""


class RunMonitor:
    """Keeps the nodes of a run up to date, and its state for observers."""

    def __init__(
        self, run: "RemoteRun", options: ActorPoolOptions, survey: Survey, pools: ActorPools
    ) -> None:
        self.stage: PlannedStage | None = None
        self.waiting = Queue()
        """The tasks that wait for this stage."""

        run.executor_state = self._executor_state
        self._run = run
        self._options = options
        self._survey = survey
        self._pools = pools
        self._store = StoreMonitor()
        ours = subtract_reserved(survey.facts.nodes, options.reserved_cpus, options.reserved_gpus)
        self._ours = {node.node_id: node for node in ours}
        self._reservations = Reservations(
            lambda node: self._our_part(node).cpus, is_exclusive=survey.is_exclusive
        )
        self._node_requests = NodeRequests()
        self._stalls = StallMonitor(
            run, self._busy_actors, options.stall_warning_s, options.stall_timeout
        )
        self._usage = NodeUsageMonitor(lambda: survey.facts, pools.used_nodes)
        if not survey.is_exclusive:  # a private cluster is this machine
            self._usage.start()
        self._next_poll = self._next_node_poll = 0.0
        self._hardware_missing_since: float | None = None
        self._has_warned = False
        for node in survey.facts.nodes:
            self._request(node)

    @property
    def is_stopping(self) -> bool:
        return self._run.stopping.is_requested

    def note_progress(self) -> None:
        self._stalls.note_progress()

    def close(self) -> None:
        self._stalls.close()
        self._usage.close()
        self._node_requests.withdraw()
        self._reservations.close()

    def poll(self, planned: PlannedStage, on_death: OnDeath) -> None:
        """Call this regularly while a stage works. `on_death` handles actors on lost nodes."""
        for node, cpus in self._reservations.granted():
            self._pools.add_node(replace(self._our_part(node), cpus=cpus))
        self._pools.expect_nodes(self._reservations.expected())
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + _POLL_S
        if self._run.stopping.is_overdue:
            raise OverdueError
        self._run.tick()
        self._pools.check()
        if error := self._stalls.check():
            raise error
        if now >= self._next_node_poll:
            self._next_node_poll = now + _POLL_NODES_S
            self._poll_nodes(on_death)
            self._check_hardware(planned, now)

    def _our_part(self, node: NodeFacts) -> NodeFacts:
        return self._ours.get(node.node_id, node)

    def _request(self, node: NodeFacts) -> None:
        if node.gpus:
            self._pools.with_gpus.add(node.node_id)
        self._reservations.request(node)

    def _poll_nodes(self, on_death: OnDeath) -> None:
        changes = self._survey.changes()
        self._node_requests.drop_met()
        for node in changes.left:
            self._reservations.release(node.node_id)
            self._pools.nodes.pop(node.node_id, None)
            self._run.events.emit("node_left", node=node.name)
            for actor in [a for a in self._pools.actors.values() if a.node == node.node_id]:
                on_death(actor, WorkerDeath(NODE_LOST))
        for node in changes.joined:
            self._run.events.emit("node_joined", node=node.name)
            self._request(node)

    def _check_hardware(self, planned: PlannedStage, now: float) -> None:
        """Warn of a stage that waits for hardware that was lost, and raise after a while."""
        nodes = [self._our_part(node) for node in self._survey.facts.nodes]
        wanted = planned.resources
        if self._pools.of(planned) or eligible_nodes(wanted, nodes, self._pools.with_gpus):
            self._hardware_missing_since, self._has_warned = None, False
            self._node_requests.withdraw()
            return
        if self._survey.has_autoscaler and not self._reservations.expected():
            known = [node.node_id for node in self._survey.facts.nodes]
            self._node_requests.update({wanted: planned.num_workers or 1}, known)
        self._hardware_missing_since = self._hardware_missing_since or now
        waited, limit = now - self._hardware_missing_since, self._options.wait_limit_s
        if waited > limit:
            raise ResourceError(
                f"stage {planned.name!r} waited for {limit:g} s for a node with what it needs "
                f"({wanted}), but the cluster has {self._survey.facts.describe() or 'no node'}; "
                "finished sources are kept, run it again to resume"
            )
        if waited > _GRACE_S and not self._has_warned:
            self._has_warned = True
            LOG.warning(
                "actor pool: no node has what stage %r needs now; it waits up to %g s",
                planned.name, limit,
            )  # fmt: skip

    def _busy_actors(self) -> list[BusyWorker]:
        return self._pools.busy(self.stage) if self.stage else []

    def _executor_state(self) -> ExecutorState:
        actors = list(self._pools.actors.values())
        index = self.stage.index if self.stage else -1
        store = self._store.read()
        return ExecutorState(
            Counter(actor.state for actor in actors),
            {index: self.waiting},
            {index: sum(bool(actor.calls) for actor in actors)},
            store.used,
            store.spilled,
            store.limit,
            self._usage.latest(),
        )
