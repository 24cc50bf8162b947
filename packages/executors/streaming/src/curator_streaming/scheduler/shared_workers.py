"""The number of shared workers, and a spare one while they keep dying."""

from __future__ import annotations

from math import ceil

from curator_streaming.scheduler.lifecycle import SPARE_BYTES, WorkerLifecycle
from curator_streaming.scheduler.state import Node, SchedulerState, StepState, Worker

_BACKLOG_S = 0.5
"""Start more shared workers while each has more work than this waiting."""

_UNSUITABLE_S = 0.3
_MIN_TASKS_EACH = 2
"""With fewer waiting tasks per worker, all are done before more workers have started."""

_SPARE_FOR_S = 60.0
"""How long to keep a spare worker after the last death."""


class SharedWorkers:
    """Starts workers for the steps that have no dedicated ones."""

    def __init__(self, state: SchedulerState, lifecycle: WorkerLifecycle) -> None:
        self.state = state
        self.lifecycle = lifecycle
        self._spare_until = 0.0
        self._spare_node = ""

    @property
    def wake_at(self) -> float | None:
        """When first calls that still run will show that more workers pay off."""
        state = self.state
        times = [step.first_sample_at for step in state.shared_steps]
        at = min((at for at in times if at is not None and at > state.now), default=None)
        return None if at is None or state.shared.size >= state.max_shared_workers else at

    def start(self) -> None:
        """Start enough shared workers for the waiting tasks."""
        state = self.state
        shared = state.shared_steps
        wanted = min(state.max_shared_workers, self._wanted(shared))
        before = state.shared.size
        while state.shared.size < wanted and self.lifecycle.start_shared():
            pass
        for step in shared:
            if self._has_no_suitable_worker(step):
                self._start_where_it_fits(step)
        if state.shared.size > before:
            more = state.shared.size - before
            state.explain("scale", f"{more} shared worker{'s' * (more != 1)} started for new work")

    def _has_no_suitable_worker(self, step: StepState) -> bool:
        """Whether it has waited for some time although no existing worker could run it."""
        state = self.state
        if step.calls or not state.ready & step.bit:
            return False
        if state.now - step.queued_since < _UNSUITABLE_S:
            return False
        return not any(
            _can_run(worker.node, step) or worker.warm & step.bit
            for worker in state.shared.workers.values()
        )

    def _start_where_it_fits(self, step: StepState) -> None:
        for node in self.state.nodes.values():
            if _can_run(node, step):
                self.lifecycle.start_shared_on(node)
                return

    def _wanted(self, shared: list[StepState]) -> int:
        """Return how many workers the waiting tasks keep busy in all steps ahead of them.

        Until their cost is known: one per core, and once the first calls prove to be slow, as many
        as there is room for.
        """
        state = self.state
        waiting = sum(step.queue.tasks + step.calls for step in shared)
        at_once = state.cores
        has_enough = waiting >= _MIN_TASKS_EACH * state.max_shared_workers
        if has_enough and any(step.is_slow(state.now) for step in shared):
            at_once = state.max_shared_workers
        seconds = rest = 0.0
        for step in reversed(state.steps.values()):
            rest *= step.fan_out
            if step.pool is state.shared:
                rest += step.reliable_cost(state.now)
                seconds += step.queue.tasks * rest
        return max(1 if shared else 0, min(waiting, max(at_once, ceil(seconds / _BACKLOG_S))))

    # The spare worker

    def worker_died(self, worker: Worker) -> None:
        if worker.pool is self.state.shared:
            self._spare_until = self.state.now + _SPARE_FOR_S
            self._spare_node = worker.node.name

    def update_spare(self) -> None:
        """Keep a spare worker where one died recently: a process takes a second to start."""
        state, spare = self.state, self.lifecycle.spare
        if state.now >= self._spare_until:
            if spare is not None:
                self.lifecycle.drain(spare, f"no worker died for {_SPARE_FOR_S:g} s")
            return
        node = state.nodes.get(self._spare_node)
        if spare is not None or node is None or node.free_memory < SPARE_BYTES:
            return
        self.lifecycle.start_spare(node)
        state.explain("scale", "a spare shared worker started, because one died")


def _can_run(node: Node, step: StepState) -> bool:
    return bool(node.runnable & step.bit) and step.spec.need.memory <= node.free_memory
