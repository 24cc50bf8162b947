"""Backpressure: calls and sources wait while too many bytes are in use behind them."""

from __future__ import annotations

from curator_streaming.scheduler.actions import RequestSources
from curator_streaming.scheduler.resources import NO_LIMIT
from curator_streaming.scheduler.state import SchedulerState, StepState

_MIN_AHEAD_S = 0.6
"""How much work should wait for the first step, for each worker."""

_CALLS_AHEAD = 2
_MAX_SOURCES = 20_000
_MAX_SOURCES_PER_WORKER = 200
"""Limits of the sources that wait: each takes about a kilobyte in the driver."""


class OutputRoom:
    """How many tasks a step may begin, given the space for what they will return."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state

    def max_tasks(self, step: StepState) -> int:
        """Return how many tasks may begin now; 0 adds the step to the blocked ones."""
        state = self.state
        last = step.spec.last
        space = state.budget.free_for(last)
        size = step.bytes_per_task
        if space <= 0:
            tasks = 0
        elif size is None:
            few = min(4 + len(state.nodes), max(step.pool.ready, 1))
            tasks = step.spec.batch_size if step.calls < few else 0
        else:
            tasks = int(space / size) if size * NO_LIMIT > space else NO_LIMIT
        if tasks and last + 1 < state.length:
            tasks = min(tasks, self._wanted_by(state.steps[last + 1], step.fan_out))
        if tasks:
            return tasks
        if self._would_stall(step):
            return 1
        state.blocked |= step.bit
        return 0

    def _wanted_by(self, behind: StepState, fan_out: float) -> int:
        wanted = behind.max_queued - behind.queue.tasks - behind.expected_tasks
        return 0 if wanted <= 0 else max(1, int(wanted / max(fan_out, 1e-9)))

    def _would_stall(self, step: StepState) -> bool:
        """Whether nothing else could ever free space, so that one call has to be let through."""
        return (
            step.calls == 0
            and self.state.budget.undelivered == 0
            and self.state.active >> (step.spec.last + 1) == 0
        )


class SourceRequests:
    """Requests sources while there is room for them and for their outputs."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state
        self.pending = 0

    def record_arrival(self, tasks: int) -> None:
        self.pending = max(0, self.pending - tasks)

    def request_more(self) -> None:
        state = self.state
        if state.sources_ended or not state.nodes:
            return
        coming = state.first_step.queue.tasks + self.pending
        wanted = self._wanted()
        if coming * 2 > wanted:
            return
        more = min(wanted - coming, self._room())
        if more <= 0 and not state.active and not self.pending and not state.budget.undelivered:
            more = 1  # or nothing would ever move again
        if more > 0:
            self.pending += more
            state.actions.append(RequestSources(more))

    def _wanted(self) -> int:
        state = self.state
        first = state.first_step
        pool = first.pool
        expected = max(state.max_shared_workers, state.cores) if pool is state.shared else 1
        workers = max(pool.size, expected, 1)
        each = 2 * pool.slots * first.spec.batch_size
        if first.seconds_per_task is not None:
            ahead_s = max(_MIN_AHEAD_S, _CALLS_AHEAD * state.call_s)
            each = max(each, int(min(ahead_s / max(first.seconds_per_task, 1e-9), _MAX_SOURCES)))
        return min(each * workers, max(_MAX_SOURCES, _MAX_SOURCES_PER_WORKER * workers))

    def _room(self) -> int:
        state = self.state
        if state.barriers.is_on:
            return _MAX_SOURCES
        budget = state.budget
        half = 0.5 * state.settings.max_queued_bytes
        room = min(half - budget.used, budget.boundary_limits[0])
        if room <= 0:
            return 0
        waiting = state.first_step.queue.tasks
        size = budget.at_boundary[0] / waiting if waiting else 0.0
        room -= self.pending * size
        return int(min(room / size, _MAX_SOURCES)) if size else _MAX_SOURCES
