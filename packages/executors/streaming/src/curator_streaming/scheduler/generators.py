"""Generators: calls that yield outputs are paused while later steps need room or CPUs."""

from __future__ import annotations

from curator_streaming.scheduler.actions import Pause, Resume
from curator_streaming.scheduler.dispatch import Dispatcher
from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.state import STARTING, Call, Node, SchedulerState

_STALLED_S = 1.0
_STARVED_S = 0.3
"""How long later steps wait for CPUs before a generator gives its own back."""


class GeneratorControl:
    """Pauses generators, which then hold no CPUs, and lets another worker run what waits for them.

    A generator may never end, so without this nothing behind it would run if generators hold all
    CPUs of a node.
    """

    def __init__(
        self, state: SchedulerState, dispatcher: Dispatcher, lifecycle: WorkerLifecycle
    ) -> None:
        self.state = state
        self._dispatcher = dispatcher
        self._lifecycle = lifecycle
        self._starved_since: dict[str, float] = {}

    def record_yield(self, call: Call) -> None:
        call.step.is_generator = True
        call.worker.node.generators[call.id] = call

    def pause_if_full(self, call: Call) -> None:
        """Pause the call if its outputs exceed the budget, unless only its pool can free space."""
        state, pool = self.state, call.worker.pool
        paused = sum(other.worker.pool is pool for other in state.paused.values())
        if call.paused or pool.ready - paused <= 1 or not self._has_work_behind(call):
            return
        if not state.budget.fits(call.last, 1.0):
            self._pause(call)

    def _pause(self, call: Call) -> None:
        worker, node = call.worker, call.worker.node
        call.paused = True
        self.state.paused[call.id] = call
        self.state.actions.append(Pause(call.id))
        worker.pool.remove_available(worker)
        node.free_cpus += worker.cpus
        worker.cpus = 0
        self._dispatcher.serve_waiters(node)
        waiting = self._waiting_behind(call)
        self._find_unserved(node, waiting)
        self._run_steps(waiting, node)

    def resume(self) -> None:
        """Resume calls that have room for outputs and CPUs again."""
        state = self.state
        has_stalled = state.now - state.last_done > _STALLED_S and not state.budget.undelivered
        for call in list(state.paused.values()):
            has_room = state.budget.fits(call.last, 0.9)
            if has_stalled or has_room or not self._has_work_behind(call):
                self._resume_with_cpus(call)

    def _resume_with_cpus(self, call: Call) -> None:
        worker, node = call.worker, call.worker.node
        need = call.step.spec.need.cpus
        if need > node.free_cpus or node.priority_waiters:
            return
        if self._waiting_behind(call) and not self._runs_behind(call):
            return
        call.paused = False
        del self.state.paused[call.id]
        node.free_cpus -= need
        worker.cpus = need
        self.state.actions.append(Resume(call.id))

    def update(self) -> None:
        """Let a generator give its CPUs back on each node where later steps wait for some."""
        for node in self.state.nodes.values():
            if not node.generators:
                self._starved_since.pop(node.name, None)
                node.unserved = 0
                continue
            earliest = min(node.generators.values(), key=lambda call: call.last)
            waiting = self._waiting_behind(earliest)
            self._find_unserved(node, waiting)
            if waiting:
                self._ensure_worker(node)
                self._run_steps(node.unserved, node)
            if not (waiting or node.priority_waiters) or self._has_cpus_behind(earliest, waiting):
                self._starved_since.pop(node.name, None)
            elif (
                self.state.now - self._starved_since.setdefault(node.name, self.state.now)
                >= _STARVED_S - 1e-6
            ):
                self._pause_one(node)

    def _pause_one(self, node: Node) -> None:
        running = [call for call in node.generators.values() if not call.paused]
        if running:
            self._pause(running[0])

    def _waiting_behind(self, call: Call) -> int:
        """Return the later shared steps that wait for a worker on the call's node, as bits."""
        state = self.state
        return (
            (state.ready & ~state.blocked & call.worker.node.runnable)
            >> (call.last + 1)
            << (call.last + 1)
        )

    def _find_unserved(self, node: Node, waiting: int) -> None:
        """Find waiting steps that are set up in none of the node's workers without generators."""
        for worker in node.workers.values():
            if not worker.calls or worker.calls[0].id not in node.generators:
                waiting &= ~worker.warm
        node.unserved = waiting

    def _has_cpus_behind(self, call: Call, waiting: int) -> bool:
        """Whether a later step runs on this node, or has enough free CPUs to run."""
        node = call.worker.node
        steps = [step for step in self.state.steps.values() if step.bit & waiting]
        waiters = (w.pool.first for w in node.priority_waiters)
        steps += [self.state.steps[first] for first in waiters if first is not None]
        has_free = any(step.spec.need.cpus <= node.free_cpus for step in steps)
        return has_free or self._runs_behind(call)

    def _runs_behind(self, call: Call) -> bool:
        """Whether a later step runs on the call's node."""
        return any(
            worker.calls and worker.cpus and worker.calls[0].step.spec.first > call.last
            for worker in call.worker.node.workers.values()
        )

    def _ensure_worker(self, node: Node) -> None:
        """Start a shared worker for later steps if generators occupy all that there are."""
        shared = [worker for worker in node.workers.values() if worker.pool is self.state.shared]
        if not shared or any(w.state == STARTING or not w.calls for w in shared):
            return
        paused = sum(call.paused for call in node.generators.values())
        if all(w.calls[0].id in node.generators for w in shared) and (
            node.shared_workers <= node.max_shared_workers + paused
        ):
            self._lifecycle.start_shared_on(node)
            self.state.explain("scale", "1 shared worker started behind generators that run long")

    def _run_steps(self, bits: int, node: Node) -> None:
        while bits:
            first = bits.bit_length() - 1
            bits &= ~(1 << first)
            self._dispatcher.run_step(self.state.steps[first], node.name)

    def _has_work_behind(self, call: Call) -> bool:
        state = self.state
        return bool(state.active >> (call.last + 1) or state.budget.undelivered)
