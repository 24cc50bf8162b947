"""Autoscaling of dedicated workers, about once a second."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, log

from curator_streaming.scheduler.allocation import StepDemand, allocate_fairly, throughput
from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.placement import NodeResources, can_hold, find_node, without_cpus
from curator_streaming.scheduler.resources import NO_LIMIT, Need
from curator_streaming.scheduler.state import (
    MIN_CALL_SHARE,
    Node,
    SchedulerState,
    StepState,
    Worker,
)

_MIN_TURN_S = 5.0
_SETUPS_PER_TURN = 5
_MIN_AHEAD_S = 0.5
_REFILLS = 4


class Autoscaler:
    """Gives resources to the steps that are the bottleneck, if that pays for their setup."""

    def __init__(self, state: SchedulerState, lifecycle: WorkerLifecycle) -> None:
        self.state = state
        self.lifecycle = lifecycle
        self._inputs: tuple[object, ...] = ()
        """What the current targets were computed from."""

        self._awaiting_room: dict[int, int] = {}
        """Workers of each step that will start when draining ones have left."""

        self._reserved_nodes: dict[str, int] = {}
        """Nodes that are cleared for a worker of one step that fits nowhere else."""

    def run(self) -> None:
        for step in self.state.steps.values():
            step.cost.update()
        self._update_targets()
        self.start_missing()
        self._move_workers()

    # Targets

    def _update_targets(self) -> None:
        demands = self._demands()
        if not demands or not self.state.nodes:
            return
        inputs = self._describe_inputs(demands)
        if inputs != self._inputs:
            self._inputs = inputs
            empty = [node.empty_copy() for node in self.state.nodes.values()]
            self._reserve_shared_memory(empty)
            self._set_targets(demands, allocate_fairly(empty, demands))

    def _reserve_shared_memory(self, trial: list[NodeResources]) -> None:
        """Leave room for a shared worker to set up the largest of the shared steps."""
        largest = max((s.spec.need.memory for s in self.state.shared_steps), default=0)
        if largest:
            found = find_node(trial, Need(cpus=0, memory=largest))
            if found is not None:
                found[0].take(found[1])

    def _describe_inputs(self, demands: list[StepDemand]) -> tuple[object, ...]:
        """Return what the targets depend on, rounded so that noise does not change it."""
        steps = tuple(
            (d.first, d.most, round(20 * log(d.weight or 1e-9)), self._pool_size(d.first))
            for d in demands
        )
        return (steps, tuple(self.state.nodes))

    def _pool_size(self, first: int) -> int:
        return self.state.steps[first].pool.size

    def _set_targets(self, demands: list[StepDemand], counts: dict[int, int]) -> None:
        state = self.state
        current = {d.first: self._pool_size(d.first) for d in demands}
        before, after = throughput(current, demands), throughput(counts, demands)
        pays = after > before * (1 + self._required_gain()) or any(
            state.steps[first].has_work and not current[first] for first in counts
        )
        for demand in demands:
            first = demand.first
            step = state.steps[first]
            target = counts[first] if pays else max(counts[first], current[first])
            if pays and target not in (step.target, current[first]):
                reason = f"{step.spec.name}: {current[first]} -> {_count_workers(target)}: "
                if step.cost.seconds_per_task is None:
                    reason += "its cost is not measured yet"
                else:
                    reason += f"one source takes {demand.weight:.3g} s of a worker's time"
                state.explain("scale", reason, first)
            step.target = target

    def _required_gain(self) -> float:
        settings = self.state.settings
        steps = self.state.dedicated_steps
        setup = max((step.setup_s or 0.0 for step in steps), default=0.0)
        error = max((step.cost.relative_error for step in steps), default=0.0)
        return settings.hysteresis + 2 * error + setup / settings.payback_s

    def _demands(self) -> list[StepDemand]:
        """Return the demands of dedicated steps, in the order of their right to a first worker."""
        flow = dict(self._tasks_per_source())
        closed = self.state.barriers.closed
        steps = sorted(
            (s for s in self.state.dedicated_steps if not s.bit & closed), key=self._rank
        )
        costs = [step.cost.seconds_per_task for step in steps if step.cost.seconds_per_task]
        average = sum(costs) / len(costs) if costs else 1.0
        demands = []
        for step in steps:
            spec = step.spec
            weight = (step.cost.seconds_per_task or average) * flow[spec.first]
            most = self._max_workers(step, flow)
            need = without_cpus(spec.need) if step.shares_cpus else spec.need
            demands.append(
                StepDemand(
                    spec.first, need, weight, most, spec.is_fixed, spec.is_spread, spec.node_limit
                )
            )
        return demands

    def _tasks_per_source(self) -> Iterator[tuple[int, float]]:
        """Yield how many tasks reach each step for one source."""
        flow = 1.0
        for step in self.state.steps.values():
            yield step.spec.first, flow
            flow *= step.fan_out

    def _max_workers(self, step: StepState, flow: dict[int, float]) -> int:
        """Return the number beyond which workers would have nothing to do."""
        if step.spec.is_fixed:
            return self._requested_workers(step) if self._may_get_work(step) else 0
        limit = NO_LIMIT
        if self.state.sources_ended:
            limit = ceil(self._tasks_to_come(step, flow) / step.spec.batch_size)
        if not step.spec.need.is_special:
            limit = min(limit, self._cpu_share(step, flow))
        if step.cost.seconds_per_task is not None and step.pool.idle * 10 > step.pool.ready:
            limit = min(limit, max(step.pool.size, 1))
        return limit

    def _requested_workers(self, step: StepState) -> int:
        spec, nodes = step.spec, self.state.nodes.values()
        if spec.workers_per_node is None:
            return spec.num_workers or 0
        return spec.workers_per_node * sum(can_hold(node.capacity, spec.need) for node in nodes)

    def _cpu_share(self, step: StepState, flow: dict[int, float]) -> int:
        """Return the workers needed to keep up with what all CPUs together can process."""
        state = self.state
        cpus = sum(node.cpus for node in state.nodes.values())
        own = (step.seconds_per_task or 1.0) * flow[step.spec.first]
        total = sum(
            (s.seconds_per_task or 1.0) * flow[first] * max(s.spec.need.cpus, 1)
            for first, s in state.steps.items()
        )
        return ceil(cpus * own / total) + 1 if total else 1

    def _tasks_to_come(self, step: StepState, flow: dict[int, float]) -> float:
        """Return how many tasks will still reach this step when there are no more sources."""
        own = flow[step.spec.first]
        return sum(
            (s.queue.tasks + s.calls * max(1, s.max_tasks_per_call // 8)) * own / (flow[first] or 1)
            for first, s in self.state.steps.items()
            if first <= step.spec.first
        )

    def _may_get_work(self, step: StepState) -> bool:
        up_to_here = (1 << (step.spec.first + 1)) - 1
        return not self.state.sources_ended or bool(self.state.active & up_to_here)

    def _rank(self, step: StepState) -> tuple[int, int]:
        """Order steps for the first worker; if not every step gets one, they take turns."""
        position = -step.spec.first
        if not step.has_work:
            return (3, -position)
        if not step.pool.size:
            return (1, position)
        turn_s = max(_MIN_TURN_S, _SETUPS_PER_TURN * (step.setup_s or 0.0))
        oldest = min(worker.started_at for worker in step.pool.workers.values())
        is_blocked = bool(self.state.blocked & step.bit)
        if self.state.now - oldest > turn_s or is_blocked:
            return (2, position)
        return (0, position)

    def end_turns(self) -> None:
        """In batch mode: drain the workers of steps that are done or not yet due."""
        for step in self.state.dedicated_steps:
            if step.bit & self.state.barriers.closed and step.pool.size:
                step.target = 0
                for worker in list(step.pool.workers.values()):
                    self.lifecycle.drain(worker, f"{step.spec.name} has no work now")

    # Reaching the targets

    def start_missing(self) -> None:
        """Start what fits; the step with the smallest share of its target comes first."""
        missing = [step for step in self.state.dedicated_steps if step.pool.size < step.target]
        started: dict[StepState, int] = {}
        while missing:
            step = min(missing, key=lambda s: (s.pool.size / s.target, s.spec.first))
            if self._start(step):
                started[step] = started.get(step, 0) + 1
            else:
                missing.remove(step)
            if step in missing and step.pool.size >= step.target:
                missing.remove(step)
        for step, count in started.items():
            reason = f"{step.spec.name}: {_count_workers(count)} started, as there is room and work"
            self.state.explain("scale", reason, step.spec.first)

    def _start(self, step: StepState) -> bool:
        first, lifecycle = step.spec.first, self.lifecycle
        limit = self.state.setup_limit(worked_before=step.setup_s is not None)
        if step.failed_setups >= limit and not step.pool.ready:
            return False  # wait for those that are still being set up
        if step.spec.is_fixed and self.state.now < self.state.nodes_expected_until:
            return False
        nodes = [
            node
            for node in self.state.nodes.values()
            if self._reserved_nodes.get(node.name, first) == first and not node.excluded & step.bit
        ]
        has_started = lifecycle.start_dedicated(step, nodes) is not None
        if not has_started and lifecycle.free_memory(step, nodes):
            has_started = lifecycle.start_dedicated(step, nodes) is not None
        if has_started:
            reserved = self._reserved_nodes.items()
            self._reserved_nodes = {name: other for name, other in reserved if other != first}
            self._awaiting_room[first] = max(0, self._awaiting_room.get(first, 0) - 1)
        return has_started

    def _move_workers(self) -> None:
        """Drain surplus workers where a step that lacks some can use their resources."""
        steps = self.state.dedicated_steps
        if not any(step.pool.leaving for step in steps):
            self._awaiting_room.clear()
            self._reserved_nodes.clear()
        surplus = {step.spec.first: max(0, step.pool.size - step.target) for step in steps}
        for step in steps:
            first = step.spec.first
            missing = step.target - step.pool.size - self._awaiting_room.get(first, 0)
            for _ in range(missing if any(surplus.values()) else 0):
                if not self._replace_surplus(step, surplus):
                    break
            if step.target and step.has_work and not step.pool.workers:
                self._defragment(step)

    def _replace_surplus(self, step: StepState, surplus: dict[int, int]) -> bool:
        donors = self._find_donors(step, surplus)
        first = step.spec.first
        self._awaiting_room[first] = self._awaiting_room.get(first, 0) + bool(donors)
        if donors:
            names = ", ".join(sorted({self._step_name(worker) for worker in donors}))
            reason = f"resources move from {names} to {step.spec.name}, the bottleneck"
            self.state.explain("move", reason, first)
        for worker in donors:
            surplus[worker.pool.first or 0] -= 1
            self.lifecycle.drain(worker, f"its resources go to {step.spec.name}")
        return bool(donors)

    def _step_name(self, worker: Worker) -> str:
        return self.state.steps[worker.pool.first or 0].spec.name

    def _defragment(self, step: StepState) -> None:
        """Clear a node for a step that fits nowhere; the drained workers start again elsewhere."""
        first = step.spec.first
        if self._awaiting_room.get(first) or self._reserved_nodes:
            return
        others = self.state.dedicated_steps
        everything = {s.spec.first: s.pool.size for s in others if s is not step}
        donors = self._find_donors(step, everything)
        for worker in donors:
            self._reserved_nodes[worker.node.name] = first
            self.lifecycle.drain(worker, f"it makes room for {step.spec.name}")

    def _find_donors(self, step: StepState, surplus: dict[int, int]) -> list[Worker]:
        """Return the fewest workers of one node that hold enough for a worker of this step."""
        best: list[Worker] = []
        by_node: dict[str, list[Worker]] = {}
        for first, spare in surplus.items():
            for worker in self.state.steps[first].pool.workers.values() if spare > 0 else ():
                if not worker.stop_reason:
                    by_node.setdefault(worker.node.name, []).append(worker)
        for name, workers in by_node.items():
            found = self._find_enough(self.state.nodes[name], workers, step, dict(surplus))
            if found and (not best or len(found) < len(best)):
                best = found
                if len(best) == 1:
                    break
        return best

    def _find_enough(
        self, node: Node, workers: list[Worker], step: StepState, surplus: dict[int, int]
    ) -> list[Worker]:
        """Return the workers of this node that must leave for one of the step; none if too few."""
        trial = node.copy()
        leaving: list[Worker] = []
        for worker in sorted(workers, key=_by_device):
            first = worker.pool.first or 0
            if surplus[first] <= 0:
                continue
            surplus[first] -= 1
            leaving.append(worker)
            trial.give_back(worker.grant, self.state.steps[first].promised_cpus)
            if trial.place(step.spec.need) is not None:
                return leaving
        return []

    # Queue limits

    def update_queue_limits(self) -> None:
        """Update what changes slowly: how much may wait for a step, and who may set it up."""
        state = self.state
        refill_s = 0.0
        for step in state.steps.values():
            if step.pool is state.shared:
                state.update_setup_limits(step)
            step.max_queued = self._max_queued(step, refill_s)
            step.min_tasks = self._min_tasks(step)
            state.update_step(step)
            refill_s = 0.0 if step.spec.is_dedicated else refill_s
            refill_s += max(state.call_s, step.seconds_per_task or 0.0) * step.pool.slots

    def _min_tasks(self, step: StepState) -> int:
        """Return how many tasks are worth a call: more than a batch if the driver is busy."""
        state, batch, cost = self.state, step.spec.batch_size, step.seconds_per_task
        if not cost or state.call_s <= state.settings.min_call_s:
            return batch
        tasks = min(MIN_CALL_SHARE * state.call_s / cost, step.max_queued / 2)
        if step.bytes_per_task:
            tasks = min(tasks, state.call_bytes / step.bytes_per_task)
        return max(batch, int(tasks))

    def _max_queued(self, step: StepState, refill_s: float) -> int:
        """Return what all its workers process while a refill arrives, a few times over."""
        settings, pool = self.state.settings, step.pool
        is_shared = pool is self.state.shared
        if settings.has_barriers or (is_shared and not (step.spec.first and pool.ready)):
            return NO_LIMIT
        workers = max(pool.size, 1)
        least = 2 * pool.slots * workers * step.spec.batch_size
        cost = step.seconds_per_task
        if cost is None:
            return NO_LIMIT if is_shared else least
        lookahead_s = max(settings.lookahead_s, _REFILLS * self.state.call_s)
        seconds = min(lookahead_s, _MIN_AHEAD_S + _REFILLS * refill_s)
        most = seconds * workers / cost if cost else inf
        return int(min(max(least, most), NO_LIMIT))


def _by_device(worker: Worker) -> tuple[str, int]:
    device = worker.grant.shares[0].device if worker.grant.shares else ""
    return (device, len(worker.calls))


def _count_workers(count: int) -> str:
    return f"{count} worker{'s' * (count != 1)}"
