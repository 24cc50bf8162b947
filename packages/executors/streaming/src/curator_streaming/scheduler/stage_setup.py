"""Setup of stages in workers: how long it takes, how often it may fail, where not to retry it."""

from __future__ import annotations

from curator_streaming.scheduler import events
from curator_streaming.scheduler.dispatch import Dispatcher
from curator_streaming.scheduler.placement import can_hold
from curator_streaming.scheduler.state import Node, SchedulerState, StepState, Worker

EXCLUSION_S = 60.0
"""How long a step avoids a node where its setup failed."""

_RETRY_S = 1.0
"""When to retry on the only suitable node: others may be about to join."""


class NodeExclusions:
    """Makes steps avoid nodes where their setup failed, for example because a disk is full."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state
        self._until: dict[tuple[str, int], float] = {}

    def exclude(self, step: StepState, node: Node, reason: str) -> None:
        """Avoid the node for a while; only for a moment if no other node is suitable."""
        nodes = self.state.nodes
        if node.name not in nodes:
            return
        first, need = step.spec.first, step.spec.need
        others = (other for other in nodes.values() if other is not node)
        if not any(can_hold(n.capacity, need) and not n.excluded & step.bit for n in others):
            for name, other in [key for key in self._until if key[1] == first]:
                self._readmit(name, other)
            self._set(step, node, _RETRY_S)
            return
        self._set(step, node, EXCLUSION_S)
        text = f"{node.name}: not used by {step.spec.name} for {EXCLUSION_S:g} s: {reason}"
        self.state.explain("node", text, first)

    def _set(self, step: StepState, node: Node, seconds: float) -> None:
        node.excluded |= step.bit
        node.runnable &= ~step.bit
        self._until[node.name, step.spec.first] = self.state.now + seconds

    def expire(self) -> None:
        for key in [key for key, until in self._until.items() if until <= self.state.now]:
            self._readmit(*key)

    def _readmit(self, name: str, first: int) -> None:
        del self._until[name, first]
        node, step = self.state.nodes.get(name), self.state.steps.get(first)
        if node is None or step is None:
            return
        node.excluded &= ~step.bit
        if step.pool is self.state.shared:
            node.runnable |= step.bit


class SetupTracker:
    """Learns from every setup; too many failures in a row end the run."""

    def __init__(self, state: SchedulerState, dispatcher: Dispatcher) -> None:
        self.state = state
        self.exclusions = NodeExclusions(state)
        self._dispatcher = dispatcher
        self._failed_starts = 0
        """Shared workers in a row that did not start."""

        self._killed_starts = 0
        """Workers in a row that were killed before a stage ran, possibly from outside."""

        self._has_started_any = False

    def record(self, event: events.SetupMeasured) -> None:
        state = self.state
        step = state.steps.get(event.first)
        worker = state.workers.get(event.worker)
        if step is None:
            return
        step.failed_setups = self._killed_starts = 0
        step.total_setup_s += event.seconds
        step.setup_s = max(event.seconds, 0.5 * (step.setup_s or 0.0))
        if worker is not None and worker.setting_up & step.bit:
            self.finish(worker, step)
        if step.pool is state.shared:
            step.setup_memory = max(step.setup_memory, event.memory)
            if worker is not None and event.first in worker.setup_memory:
                held = worker.setup_memory[event.first]
                worker.node.free_memory -= max(0, event.memory - held)
                worker.setup_memory[event.first] = max(held, event.memory)
            state.update_setup_limits(step)
            self._dispatcher.run_step(step)

    def finish(self, worker: Worker, step: StepState) -> None:
        worker.setting_up &= ~step.bit
        step.setting_up -= 1
        if step.setup_s is None:
            step.setup_s = 0.0
        if step.pool is self.state.shared:
            self.state.update_setup_limits(step)

    def record_failure(self, first: int | None, node: Node, reason: str) -> str:
        """Count a failure; return the reason to fail the run if it was one too many."""
        step = None if first is None else self.state.steps.get(first)
        if step is None:
            self._failed_starts += 1
            failures, name = self._failed_starts, "a worker"
            limit = self.state.setup_limit(worked_before=self._has_started_any)
        else:
            step.failed_setups += 1
            failures, name = step.failed_setups, step.spec.name
            limit = self.state.setup_limit(worked_before=step.setup_s is not None)
            self.exclusions.exclude(step, node, reason)
            if self._may_still_succeed(step, limit):
                return ""
        if failures < limit:
            return ""
        return f"{name} could not be set up {failures} times; last: {reason}"

    def record_killed_start(self, reason: str) -> str:
        """Count a kill that no stage caused; return the reason to fail the run, if any."""
        self._killed_starts += 1
        if self._killed_starts < self.state.setup_limit(worked_before=True):
            return ""
        return f"{self._killed_starts} workers in a row were killed as they started; last: {reason}"

    def record_start(self) -> None:
        """A shared worker started, so starting works in principle."""
        self._failed_starts = self._killed_starts = 0
        self._has_started_any = True

    def _may_still_succeed(self, step: StepState, limit: int) -> bool:
        """Whether the step is set up somewhere, or is being set up elsewhere."""
        if step.warm_workers > step.setting_up:
            return True
        is_bounded = step.failed_setups < 2 * limit
        return bool(step.warm_workers) and (is_bounded or step.pool is not self.state.shared)
