"""Lifecycle of workers: starting and stopping, with the resources they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count

from curator_streaming.scheduler.actions import StartWorker, StopWorker
from curator_streaming.scheduler.dispatch import Dispatcher
from curator_streaming.scheduler.placement import (
    can_hold,
    find_least_filled,
    find_node,
    without_cpus,
)
from curator_streaming.scheduler.resources import NO_LIMIT, UNIT, Grant
from curator_streaming.scheduler.state import (
    DRAINING,
    READY,
    STARTING,
    STOPPING,
    Call,
    Node,
    PoolState,
    SchedulerState,
    StepState,
    Worker,
)

SPARE_BYTES = 256 << 20
"""The memory of a worker that has set up nothing, roughly."""


class WorkerLifecycle:
    """Starts workers where they fit and stops them."""

    def __init__(self, state: SchedulerState, dispatcher: Dispatcher) -> None:
        self.state = state
        self._dispatcher = dispatcher
        self._ids = count(1)
        self.spare: Worker | None = None
        """A shared worker that gets no calls until it replaces another one."""

        self._is_spare_ready = False

    # Nodes

    def add_node(self, node: Node) -> None:
        state = self.state
        needs = [step.spec.need for step in state.shared_steps]
        limit = state.settings.shared_workers_per_node
        if needs:
            smallest = min((need.cpus for need in needs if need.cpus), default=UNIT)
            fitting = max(1, node.cpus // smallest)
            node.max_shared_workers = min(fitting, limit) if limit else fitting
        for step in state.shared_steps:
            if can_hold(node.capacity, step.spec.need):
                node.runnable |= step.bit
        state.nodes[node.name] = node

    # Starting

    def start_shared(self) -> bool:
        """Use the spare worker, or start one on the node with the largest share of free slots."""
        if self.spare is not None:
            self._use_spare(self.spare)
            return True
        nodes = [
            node
            for node in self.state.nodes.values()
            if node.shared_workers < node.max_shared_workers and node.runnable
        ]
        if not nodes:
            return False
        self.start_shared_on(min(nodes, key=lambda n: n.shared_workers / n.max_shared_workers))
        return True

    def start_shared_on(self, node: Node) -> Worker:
        node.shared_workers += 1
        return self._start(self.state.shared, node, Grant())

    def start_spare(self, node: Node) -> None:
        self.spare = self.start_shared_on(node)
        self.state.shared.spares += 1
        node.free_memory -= SPARE_BYTES

    def _use_spare(self, spare: Worker) -> None:
        is_ready = self._is_spare_ready
        self._forget_spare(spare)
        if is_ready:
            self.set_ready(spare)

    def _forget_spare(self, spare: Worker) -> None:
        spare.node.free_memory += SPARE_BYTES
        self.state.shared.spares -= 1
        self.spare, self._is_spare_ready = None, False

    def start_dedicated(self, step: StepState, nodes: Sequence[Node]) -> Worker | None:
        """Start one more worker of this step on one of the nodes; None if it fits nowhere."""
        spec = step.spec
        need = without_cpus(spec.need) if step.shares_cpus else spec.need
        if spec.node_limit < NO_LIMIT:
            existing = Counter(worker.node.name for worker in step.pool.workers.values())
            nodes = [node for node in nodes if existing[node.name] < spec.node_limit]
        if spec.is_spread:
            found = find_least_filled(nodes, need, spec.first)
        else:
            found = find_node(nodes, need)
        if found is None:
            return None
        node, grant = found
        node.take(grant, step.promised_cpus)
        node.workers_of[spec.first] += 1
        worker = self._start(step.pool, node, grant)
        worker.warm = worker.setting_up = step.bit
        step.warm_workers += 1
        step.setting_up += 1
        return worker

    def free_memory(self, step: StepState, nodes: Sequence[Node]) -> bool:
        """Tear down stages of idle shared workers on a node where that makes enough room."""
        needed = step.spec.need.memory
        for node in [node for node in nodes if needed and node.free_memory < needed]:
            shared = [w for w in node.workers.values() if w.pool is self.state.shared]
            idle = [worker for worker in shared if not worker.calls]
            unused = sum(sum(worker.setup_memory.values()) for worker in idle)
            if node.free_memory + unused < needed:
                continue
            for worker in idle:
                for first in list(worker.setup_memory):
                    self._dispatcher.tear_down(worker, self.state.steps[first])
            return True
        return False

    def _start(self, pool: PoolState, node: Node, grant: Grant) -> Worker:
        state = self.state
        worker = Worker(next(self._ids), node, pool, grant)
        worker.started_at = state.now
        pool.workers[worker.id] = state.workers[worker.id] = node.workers[worker.id] = worker
        state.actions.append(StartWorker(worker.id, node.name, pool.first, grant))
        return worker

    def set_ready(self, worker: Worker) -> None:
        if worker is self.spare:
            self._is_spare_ready = True
        elif worker.state == STARTING:
            worker.state = READY
            worker.ready_at = self.state.now
            worker.pool.ready += 1
            self._dispatcher.refill(worker)
        elif worker.state == DRAINING:
            worker.ready_at = self.state.now

    def is_starting(self, worker: Worker) -> bool:
        is_ready_spare = worker is self.spare and self._is_spare_ready
        return worker.state == STARTING and not is_ready_spare

    # Stopping

    def drain(self, worker: Worker, reason: str) -> None:
        """Give this worker no more calls, and stop it after its current calls."""
        if worker.state >= DRAINING:
            return
        self._leave_pool(worker)
        worker.state = DRAINING
        worker.stop_reason = reason
        self.stop_if_idle(worker)

    def stop_if_idle(self, worker: Worker) -> None:
        if worker.state == DRAINING and not worker.calls:
            worker.state = STOPPING
            self.state.actions.append(StopWorker(worker.id, worker.stop_reason))

    def kill(self, worker: Worker, reason: str) -> None:
        if worker.state < DRAINING:
            self._leave_pool(worker)
        worker.state = STOPPING
        self.state.actions.append(StopWorker(worker.id, reason, at_once=True))

    def _leave_pool(self, worker: Worker) -> None:
        pool = worker.pool
        if worker is self.spare:
            self._forget_spare(worker)
        pool.remove_available(worker)
        pool.leaving += 1
        pool.ready -= worker.state == READY
        if pool.first is not None:
            worker.node.workers_of[pool.first] -= 1
        worker.node.waiters.pop(worker, None)
        worker.node.priority_waiters.pop(worker, None)

    def remove(self, worker: Worker) -> list[Call]:
        """Forget a worker that ended; return its unfinished calls, oldest first."""
        state, node, pool = self.state, worker.node, worker.pool
        if worker.state < DRAINING:
            self._leave_pool(worker)
        pool.leaving -= 1
        del pool.workers[worker.id], state.workers[worker.id], node.workers[worker.id]
        node.free_cpus += worker.cpus
        node.free_memory += sum(worker.setup_memory.values())
        if pool.first is None:
            node.shared_workers -= 1
        else:
            node.give_back(worker.grant, state.steps[pool.first].promised_cpus)
        for step in state.steps.values():
            step.warm_workers -= bool(worker.warm & step.bit)
            step.setting_up -= bool(worker.setting_up & step.bit)
        return list(worker.calls)
