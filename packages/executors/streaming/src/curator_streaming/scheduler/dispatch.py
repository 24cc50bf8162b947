"""Dispatch: which worker runs which tasks next, and how many of them in one call."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, islice
from math import ceil, sqrt

from curator_streaming.scheduler.actions import Dispatch, TearDown
from curator_streaming.scheduler.backpressure import OutputRoom
from curator_streaming.scheduler.state import (
    MIN_CALL_SHARE,
    READY,
    Call,
    Node,
    PoolState,
    SchedulerState,
    StepState,
    Worker,
)

_URGENT_BELOW = 0.7
"""Steps that feed a GPU come before later ones only while less of the byte budget is in use."""

_MAX_TRIES = 8
_LONG_TASK_S = 1.0
_LOAD_AVERAGED_S = 1.0
_CALL_GROWTH = 1.3
_CALL_DECAY = 0.97
"""Per tick."""

_MAX_BYTES_GROWTH = 4
_ABSENT = object()


class Dispatcher:
    """Gives calls to workers: later steps first, unless a dedicated step is about to run dry."""

    def __init__(self, state: SchedulerState) -> None:
        self.state = state
        self.room = OutputRoom(state)
        self.deadlines: list[tuple[float, int]] = []
        self._ids = count(1)
        self._calls_sent = 0
        self._load = self._load_updated_at = 0.0
        self._max_tasks = 0
        self._urgent_below = _URGENT_BELOW * state.settings.max_queued_bytes

    # Choosing a worker

    def run_step(self, step: StepState, node: str = "") -> None:
        """Give the tasks of this step to available workers, those on `node` first."""
        state = self.state
        pool = step.pool
        while state.ready & step.bit:
            worker = pool.find_available(node)
            if worker is None or not self.refill(worker):
                break
        else:
            return
        if worker is not None and pool is state.shared:
            self._refill_elsewhere(pool)

    def _refill_elsewhere(self, pool: PoolState) -> None:
        """Try one worker of other nodes: the nearest had too few CPUs or too little memory."""
        for by_node in pool.available:
            for here in list(islice(by_node.values(), _MAX_TRIES)):
                self.refill(next(iter(here)))

    def refill_all(self) -> None:
        """Refill every available worker; these are few while there is work."""
        for pool in (self.state.shared, *(step.pool for step in self.state.steps.values())):
            for by_node in pool.available:
                for worker in [worker for here in by_node.values() for worker in here]:
                    if not self.state.ready:
                        return
                    self.refill(worker)

    def run_blocked(self) -> None:
        """Retry steps that had no room for outputs, the last one first."""
        state = self.state
        blocked, state.blocked = state.blocked & state.ready, 0
        while blocked:
            first = blocked.bit_length() - 1
            blocked &= ~(1 << first)
            self.run_step(state.steps[first])

    def flush(self, linger: float) -> None:
        """Run incomplete batches that waited long enough, or will not become full."""
        state = self.state
        for step in state.steps.values():
            if not step.queue.tasks or state.ready & step.bit:
                continue
            is_last_batch = not state.expects_more(step)
            if is_last_batch or state.now - step.queued_since >= linger:
                step.flush = True
                state.update_step(step)
                self.run_step(step)

    def serve_waiters(self, node: Node) -> None:
        """Give free CPUs of this node to the workers that wait for them, by priority."""
        while node.free_cpus > 0 and (node.priority_waiters or node.waiters):
            waiters = node.priority_waiters or node.waiters
            worker = next(iter(waiters))
            has_priority = worker in node.priority_waiters
            del waiters[worker]
            self.refill(worker, has_priority)
            if worker in node.priority_waiters or worker in node.waiters:
                return

    def release_cpus(self, worker: Worker) -> None:
        """Give back CPUs that the worker's remaining calls do not need."""
        need = max((call.step.spec.need.cpus for call in worker.calls), default=0)
        if need < worker.cpus:
            worker.node.free_cpus += worker.cpus - need
            worker.cpus = need

    def take_cpus_at_once(self, worker: Worker) -> None:
        """Take CPUs for a call that runs already, because the paused one before it has ended.

        If others have them, the node has less than none free until some of those end.
        """
        worker.cpus = max(call.step.spec.need.cpus for call in worker.calls)
        worker.node.free_cpus -= worker.cpus

    # Choosing a step

    def refill(self, worker: Worker, has_priority: bool = False) -> bool:
        """Give a worker calls until its slots are full; return whether it got one."""
        if worker.state != READY or (worker.calls and worker.calls[0].paused):
            return False
        node, pool = worker.node, worker.pool
        if node.waiters or node.priority_waiters:
            node.waiters.pop(worker, None)
            had_priority = node.priority_waiters.pop(worker, _ABSENT) is None
            has_priority = had_priority or has_priority
        before = len(worker.calls)
        while len(worker.calls) < pool.slots:
            step = self._choose_step(worker)
            if step is None or (worker.calls and not self._may_prefetch(step)):
                pool.add_available(worker)
                return len(worker.calls) > before
            if not self._take_cpus(worker, step, has_priority):
                pool.remove_available(worker)
                return len(worker.calls) > before
            self._dispatch(worker, step)
        pool.remove_available(worker)
        return True

    def _may_prefetch(self, step: StepState) -> bool:
        """Whether to send a call ahead to a busy worker, where no other worker can take it.

        Not as long as tasks may be long, nor the last ones if they are.
        """
        cost = step.seconds_per_task
        return cost is not None and (cost < _LONG_TASK_S or self.state.expects_more(step))

    def _choose_step(self, worker: Worker) -> StepState | None:
        state = self.state
        first = worker.pool.first
        if first is not None:
            step = state.steps[first]
            self._max_tasks = self.room.max_tasks(step) if state.ready & step.bit else 0
            return step if self._max_tasks else None
        allowed = worker.warm | state.cheap | state.cold | worker.node.unserved
        wanted = state.ready & worker.node.runnable & allowed
        if worker.calls and worker.calls[0].step.is_generator:
            wanted &= (worker.calls[0].step.bit << 1) - 1  # it may never end: queue no later steps
        if worker.node.generators:
            wanted &= ~self._reserved_by_generators(worker.node)
        urgent = wanted & state.urgent if state.budget.used < self._urgent_below else 0
        while wanted:
            first = (urgent or wanted).bit_length() - 1
            step = state.steps[first]
            if self._can_set_up(worker, step):
                self._max_tasks = self.room.max_tasks(step)
                if self._max_tasks:
                    return step
            wanted &= ~step.bit
            urgent &= ~step.bit
        return None

    def _reserved_by_generators(self, node: Node) -> int:
        """Return the steps that may not use the CPUs of paused generators: all but later ones."""
        bits = 0
        for call in node.generators.values():
            if call.paused:
                bits |= (call.step.bit << 1) - 1
        return bits

    def _can_set_up(self, worker: Worker, step: StepState) -> bool:
        """Whether the step is set up in this worker, or there is memory for it."""
        if worker.warm & step.bit:
            return True
        free = worker.node.free_memory
        if step.setup_memory <= free or not worker.setup_memory:
            return step.spec.need.memory <= free
        busy = {call.step.spec.first for call in worker.calls}
        unused = sum(size for first, size in worker.setup_memory.items() if first not in busy)
        return step.setup_memory <= free + unused

    def _take_cpus(self, worker: Worker, step: StepState, has_priority: bool) -> bool:
        """Take the CPUs that the step needs, or make the worker wait for them."""
        node = worker.node
        need = step.spec.need.cpus
        extra = need - worker.cpus
        is_shared = worker.pool.first is None
        must_yield = is_shared and not has_priority and bool(node.priority_waiters)
        if extra <= 0:
            return not (must_yield and worker.calls)
        if extra <= node.free_cpus and not must_yield:
            node.free_cpus -= extra
            worker.cpus = need
            return True
        if not is_shared or need * node.max_shared_workers > node.cpus:
            node.priority_waiters[worker] = None
        else:
            node.waiters[worker] = None
        return False

    # Making a call

    def update_call_length(self) -> None:
        """Let calls grow while sending them keeps the driver too busy, and shrink afterwards."""
        state, settings = self.state, self.state.settings
        elapsed = state.now - self._load_updated_at
        if elapsed <= 0:
            return
        load = self._calls_sent * settings.driver_call_s / elapsed
        self._load += (load - self._load) * min(1.0, elapsed / _LOAD_AVERAGED_S)
        self._load_updated_at, self._calls_sent = state.now, 0
        call_s = state.call_s
        if self._load > settings.max_driver_load:
            call_s *= _CALL_GROWTH
        elif self._load < 0.5 * settings.max_driver_load:
            call_s *= _CALL_DECAY
        pools = (state.shared, *(step.pool for step in state.dedicated_steps))
        needed = sum(pool.ready for pool in pools) * settings.driver_call_s
        limit = min(needed / settings.max_driver_load, settings.max_call_s)
        state.call_s = max(settings.min_call_s, min(call_s, limit))
        growth = min(state.call_s / settings.min_call_s, _MAX_BYTES_GROWTH)
        state.call_bytes = int(settings.max_bytes_per_call * growth)

    def _choose_size(self, step: StepState) -> int:
        """Return the number of tasks for one call: enough work, and a share for every worker."""
        settings, waiting = self.state.settings, step.queue.tasks
        most = min(settings.max_tasks_per_call, step.max_tasks_per_call, step.recycled_after)
        batch = step.spec.batch_size
        cost = step.seconds_per_task
        if cost is None:
            tasks = 1
        elif cost > 0:
            tasks = ceil(min(self.state.call_s / cost, self._fair_share(step, cost), most))
        else:
            tasks = most
        if step.bytes_per_task:
            tasks = min(tasks, int(self.state.call_bytes / step.bytes_per_task) or 1)
        if batch > 1:
            tasks = max(batch, tasks - tasks % batch)
        return min(tasks, self._max_tasks, waiting)

    def _fair_share(self, step: StepState, cost: float) -> float:
        """Return how many of the waiting tasks one call may take, so that all workers get some.

        At the end it takes the driver n / k * driver_call_s to send n tasks in calls of k tasks:
        calls that take as long as that end soonest.
        """
        state, settings, waiting = self.state, self.state.settings, step.queue.tasks
        workers = step.pool.ready or 1
        if state.expects_more(step):
            return max(waiting / workers, MIN_CALL_SHARE * state.call_s / cost)
        sendable = sqrt(waiting * settings.driver_call_s / cost)
        least = 0.25 * settings.min_call_s / cost
        return max(waiting // (workers * step.pool.slots), sendable, least)

    def _dispatch(self, worker: Worker, step: StepState) -> None:
        state = self.state
        queue = step.queue
        spec = step.spec
        if queue.suspects:
            ranges = [queue.take_suspect()]
        else:
            size = self._choose_size(step)
            ranges = queue.take(worker.node.name, size, state.call_bytes)
        self._calls_sent += 1
        call = Call(next(self._ids), worker, step, ranges)
        for tasks in ranges:
            call.tasks += tasks.stop - tasks.start
        call.isolated = ranges[0].is_suspect
        call.quarantine = ranges[0].deaths >= state.settings.max_task_deaths
        if not worker.warm & step.bit:
            self._set_up(worker, step)
        worker.calls.append(call)
        state.calls[call.id] = call
        step.calls += 1
        self._reserve_outputs(call)
        step.queued_since = state.now
        step.flush = step.flush and queue.tasks > 0
        state.update_step(step)
        if spec.timeout_s and len(worker.calls) == 1:
            self.watch(call)
        state.actions.append(
            Dispatch(
                call.id,
                worker.id,
                spec.first,
                spec.last,
                tuple([tasks.slice for tasks in ranges]),
                call.isolated,
                call.quarantine,
            )
        )

    def _reserve_outputs(self, call: Call) -> None:
        """Charge the expected outputs, so that other calls leave room for them."""
        state, step = self.state, call.step
        if step.bytes_per_task:
            call.reserved_bytes = int(step.bytes_per_task * call.tasks)
            state.budget.charge(call.last + 1, call.reserved_bytes)
        behind = state.steps.get(call.last + 1)
        if behind is not None:
            call.expected_tasks = call.tasks * step.fan_out
            behind.expected_tasks += call.expected_tasks
            if behind.pool is not state.shared:
                state.update_step(behind)

    # Time limits

    def watch(self, call: Call) -> None:
        """Start the time limit of a call that begins now, if its stages have one."""
        timeout_s = call.step.spec.timeout_s
        if not timeout_s:
            return
        limit = timeout_s * call.tasks + self.state.settings.timeout_grace_s
        limit += call.step.setup_s or 0.0
        heappush(self.deadlines, (self.state.now + limit, call.id))

    def find_overdue(self) -> Iterator[Call]:
        """Yield calls that still run after their time limit."""
        while self.deadlines and self.deadlines[0][0] <= self.state.now:
            _, call_id = heappop(self.deadlines)
            call = self.state.calls.get(call_id)
            if call is not None and call.worker.calls[0] is call and not call.paused:
                yield call

    # Setup in shared workers

    def _set_up(self, worker: Worker, step: StepState) -> None:
        """Record that the worker will set the step up, after freeing memory for it if necessary."""
        node = worker.node
        if step.setup_memory > node.free_memory:
            self._free_memory(worker, step)
        worker.warm |= step.bit
        worker.setting_up |= step.bit
        worker.setup_memory[step.spec.first] = step.setup_memory
        node.free_memory -= step.setup_memory
        step.warm_workers += 1
        step.setting_up += 1
        self.state.update_setup_limits(step)

    def _free_memory(self, worker: Worker, step: StepState) -> None:
        busy = {call.step.spec.first for call in worker.calls}
        for first in [first for first in worker.setup_memory if first not in busy]:
            if step.setup_memory <= worker.node.free_memory:
                return
            self.tear_down(worker, self.state.steps[first])

    def tear_down(self, worker: Worker, step: StepState) -> None:
        worker.node.free_memory += worker.setup_memory.pop(step.spec.first)
        worker.warm &= ~step.bit
        step.warm_workers -= 1
        self.state.actions.append(TearDown(worker.id, step.spec.first, step.spec.last))
