"""Faults: the work of dead workers runs again; steps that no node can hold wait for a while."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curator_streaming.scheduler.actions import GiveUp
from curator_streaming.scheduler.blocks import BlockSlice, TaskRange
from curator_streaming.scheduler.placement import can_hold
from curator_streaming.scheduler.state import Call, SchedulerState, StepState

_JOIN_GRACE_S = 1.5
"""Nodes join one after the other: do not report what may be there in a moment."""


class FaultHandler:
    """Puts the tasks of failed calls back into their queue."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state

    def requeue(self, calls: Iterable[Call]) -> None:
        """Run these calls again, in their old order; they caused no failure."""
        for call in reversed(list(calls)):
            self.end_call(call)
            for tasks in reversed(call.ranges):
                self._put_back(call, tasks)
            self.state.update_step(call.step)

    def drop(self, call: Call) -> None:
        """Forget the tasks of a call whose inputs are lost."""
        self.end_call(call)
        self.state.consume(call.ranges)
        self.state.update_step(call.step)

    def blame(
        self, call: Call, reason: str, suspects: Sequence[BlockSlice] = (), weight: float = 1.0
    ) -> None:
        """Run each task alone that may have killed the worker of this call."""
        self.end_call(call)
        if call.quarantine:
            self._give_up(call, reason)
        else:
            for tasks in call.ranges:
                for part, is_suspect in _split_by_suspects(tasks, suspects):
                    if is_suspect or call.isolated:
                        self._isolate(call, part, weight)
                    else:
                        self._put_back(call, part)
            count = "one task alone" if call.tasks == 1 else f"{call.tasks} tasks"
            text = f"{call.step.spec.name}: {reason} while processing {count}"
            self.state.explain("suspect", text, call.step.spec.first)
        self.state.update_step(call.step)

    def end_call(self, call: Call) -> None:
        """Forget a call, and the outputs that were expected of it."""
        state, step = self.state, call.step
        del state.calls[call.id]
        state.paused.pop(call.id, None)
        call.worker.node.generators.pop(call.id, None)
        step.calls -= 1
        if call.reserved_bytes:
            state.budget.charge(call.last + 1, -call.reserved_bytes)
            call.reserved_bytes = 0
        behind = state.steps.get(call.last + 1)
        if behind is not None and call.expected_tasks:
            behind.expected_tasks -= call.expected_tasks
            if behind.pool is not state.shared:
                state.update_step(behind)

    def _isolate(self, call: Call, tasks: TaskRange, weight: float) -> None:
        if tasks.block.withdrawn:
            self.state.consume([tasks])
            return
        tasks.deaths += weight if call.tasks == 1 else 0.0
        tasks.is_suspect = True
        call.step.queue.push_suspect(tasks)

    def _put_back(self, call: Call, tasks: TaskRange) -> None:
        if tasks.block.withdrawn:
            self.state.consume([tasks])
        elif tasks.is_suspect:
            call.step.queue.push_suspect(tasks)
        else:
            call.step.queue.push_front(tasks)

    def _give_up(self, call: Call, reason: str) -> None:
        for tasks in call.ranges:
            self.state.actions.append(GiveUp(tasks.slice, call.step.spec.first, reason))
        self.state.consume(call.ranges)


def _split_by_suspects(
    tasks: TaskRange, suspects: Sequence[BlockSlice]
) -> Iterable[tuple[TaskRange, bool]]:
    """Split tasks into suspects and tasks not started."""
    if not suspects:
        yield tasks, True
        return
    suspected = sorted(
        (max(s.start, tasks.start), min(s.stop, tasks.stop))
        for s in suspects
        if s.handle == tasks.block.handle
    )
    at = tasks.start
    for start, stop in suspected:
        if start >= stop:
            continue
        if at < start:
            yield TaskRange(tasks.block, at, start), False
        yield TaskRange(tasks.block, max(at, start), stop), True
        at = max(at, stop)
    if at < tasks.stop:
        yield TaskRange(tasks.block, at, tasks.stop), False


class MissingResources:
    """Watches for steps that no node can hold any more, for example after a GPU node left."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state
        self._reported_at: dict[int, float] = {}

    @property
    def limit_s(self) -> float:
        """How long a step may wait: longer if an autoscaler brings nodes."""
        settings = self.state.settings
        return settings.scale_up_timeout_s if settings.is_autoscaled else settings.shrink_limit_s

    def describe_expired(self, step: StepState) -> str:
        needs = f"{step.spec.name} needs {step.spec.need} on one node"
        if not self.state.settings.is_autoscaled:
            return f"{needs}, and no node had that for {self.limit_s:g} s"
        return (
            f"{needs}, and the autoscaler of the cluster brought none within {self.limit_s:g} s "
            "(scale_up_timeout_s); it may have reached its limit, or have no type of node with that"
        )

    def find_expired(self) -> StepState | None:
        """Return a step that has waited as long as it may; report waiting steps."""
        for step in self.state.steps.values():
            if not self._is_waiting(step):
                self._resume(step)
            elif step.unplaceable_since is None:
                step.unplaceable_since = self.state.now
            elif self.state.now - step.unplaceable_since >= self.limit_s:
                return step
            elif self._is_report_due(step):
                self._report(step)
        return None

    def _is_waiting(self, step: StepState) -> bool:
        state = self.state
        if any(can_hold(node.capacity, step.spec.need) for node in state.nodes.values()):
            return False
        return step.has_work or (not state.nodes and step is state.first_step)

    def _is_report_due(self, step: StepState) -> bool:
        now, reported_at = self.state.now, self._reported_at.get(step.spec.first)
        if reported_at is None:
            return now - (step.unplaceable_since or now) >= _JOIN_GRACE_S
        return now - reported_at >= self.state.settings.remind_s

    def _resume(self, step: StepState) -> None:
        step.unplaceable_since = None
        if self._reported_at.pop(step.spec.first, None) is not None:
            reason = f"{step.spec.name} has a node now and continues"
            self.state.explain("wait", reason, step.spec.first)

    def _report(self, step: StepState) -> None:
        state, spec = self.state, step.spec
        still = "still " if spec.first in self._reported_at else ""
        self._reported_at[spec.first] = state.now
        waited = state.now - (step.unplaceable_since or state.now)
        reason = f"{spec.name} needs {spec.need} on one node, and {still}no node has that"
        source = " for the autoscaler to bring one" if state.settings.is_autoscaled else ""
        left = f"up to {self.limit_s - waited:.0f} s more"
        state.explain("wait", f"{reason}: waiting {left}{source}", spec.first)
