"""Everything that exists at this moment: nodes, steps, pools, workers, calls and stored blocks.

Sets of steps are bits of an integer: bit i is the step that begins with stage i.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from math import sqrt

from curator_streaming.scheduler.actions import Action, Decision, Explain, Release
from curator_streaming.scheduler.blocks import Block, StoredBlock, TaskRange
from curator_streaming.scheduler.budget import ByteBudget
from curator_streaming.scheduler.placement import NodeResources
from curator_streaming.scheduler.queues import StepQueue
from curator_streaming.scheduler.resources import NO_LIMIT, UNIT, Capacity, Grant
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import StepSpec, strictest_limit

STARTING, READY, DRAINING, STOPPING = range(4)
"""States of a worker. A draining one gets no more calls and is stopped after its last one."""

CHEAP_SETUP_S = 0.1
MIN_CALL_SHARE = 0.5
"""The smallest call as a share of the work that a call should carry, if more tasks may come."""

_MIN_SAMPLE_CALLS = 8

_RELIABLE_S = 0.02
"""Less work than this mostly measures the overhead of a first call."""

_LONG_FIRST_CALL_S = 3.0
"""A first call may include an unreported setup of this length."""

_KNOWN_SETUP_PATIENCE = 5


class Node(NodeResources):
    """A node in use, with the workers on it that wait for CPUs."""

    __slots__ = (
        "excluded", "free_cpus", "generators", "max_shared_workers", "priority_waiters",
        "runnable", "shared_workers", "unserved", "waiters", "workers",
    )  # fmt: skip

    def __init__(self, name: str, capacity: Capacity) -> None:
        super().__init__(name, capacity)
        self.free_cpus = self.cpus
        """CPUs that no call holds."""

        self.workers: dict[int, Worker] = {}
        self.generators: dict[int, Call] = {}
        """Running calls that have yielded outputs."""

        self.unserved = 0
        """Steps that any worker here may set up, because generators hold those that have them."""

        self.shared_workers = 0
        self.max_shared_workers = 0
        self.runnable = 0
        """The shared steps that this node can run, as bits."""

        self.excluded = 0
        """The steps that recently failed to set up here, as bits."""

        self.priority_waiters: dict[Worker, None] = {}
        """Workers that get CPUs first; while there are any, shared workers start no more calls."""

        self.waiters: dict[Worker, None] = {}


class Call:
    """Work that a worker was given and has not finished."""

    __slots__ = (
        "expected_tasks", "id", "isolated", "last", "output_bytes", "output_tasks", "paused",
        "quarantine", "queue_position", "ranges", "reserved_bytes", "step", "tasks", "worker",
    )  # fmt: skip

    def __init__(self, id: int, worker: Worker, step: StepState, ranges: list[TaskRange]) -> None:
        self.id = id
        self.worker = worker
        self.step = step
        self.last = step.spec.last
        self.ranges = ranges
        self.tasks = 0
        self.reserved_bytes = 0
        """Bytes charged for outputs that have not arrived."""

        self.expected_tasks = 0.0
        self.output_tasks = 0
        self.output_bytes = 0
        self.isolated = self.quarantine = self.paused = False
        self.queue_position = len(worker.calls)


class Worker:
    """A process that runs calls one after the other."""

    __slots__ = (
        "calls", "cpus", "grant", "id", "node", "pool", "ready_at", "setting_up", "setup_memory",
        "started_at", "state", "stop_reason", "tasks", "tier", "warm",
    )  # fmt: skip

    def __init__(self, id: int, node: Node, pool: PoolState, grant: Grant) -> None:
        self.id = id
        self.node = node
        self.pool = pool
        self.grant = grant
        self.calls: deque[Call] = deque()
        self.state = STARTING
        self.cpus = 0
        """CPUs held for the largest of its calls."""

        self.warm = 0
        """The steps that are set up here, as bits."""

        self.setting_up = 0
        self.setup_memory: dict[int, int] = {}
        """Bytes held by each step that is set up, the least recently set up first."""

        self.tasks = 0
        self.started_at = self.ready_at = 0.0
        self.tier = -1
        """Its place in `PoolState.available`; -1 for none."""

        self.stop_reason = ""


class PoolState:
    """The workers that take the same work: all shared ones, or those of one dedicated step."""

    __slots__ = (
        "available", "first", "idle", "leaving", "ready", "retiring", "slots", "spares", "workers",
    )  # fmt: skip

    def __init__(self, first: int | None, slots: int) -> None:
        self.first = first
        self.slots = slots
        self.workers: dict[int, Worker] = {}
        self.ready = 0
        self.leaving = 0
        self.spares = 0
        self.retiring = 0
        """Workers that run until their successors are ready."""

        self.available: tuple[dict[str, dict[Worker, None]], ...] = ({}, {})
        """Workers by node that can take a call: idle ones, then those with a free slot."""

        self.idle = 0

    @property
    def size(self) -> int:
        """Number of workers, excluding leaving and spare ones."""
        return len(self.workers) - self.leaving - self.retiring - self.spares

    def add_available(self, worker: Worker) -> None:
        tier = 1 if worker.calls else 0
        if worker.tier == tier:
            return
        self.remove_available(worker)
        worker.tier = tier
        self.idle += tier == 0
        self.available[tier].setdefault(worker.node.name, {})[worker] = None

    def remove_available(self, worker: Worker) -> None:
        if worker.tier < 0:
            return
        self.idle -= worker.tier == 0
        by_node = self.available[worker.tier]
        here = by_node[worker.node.name]
        del here[worker]
        if not here:
            del by_node[worker.node.name]
        worker.tier = -1

    def find_available(self, node: str) -> Worker | None:
        """Return a worker that can take a call: preferably an idle one, preferably on this node."""
        for by_node in self.available:
            if by_node:
                here = by_node.get(node)
                if here is None:
                    here = next(iter(by_node.values()))
                return next(iter(here))
        return None


class CostEstimate:
    """Seconds per task: a slow average while steady, replaced at once when the cost jumps."""

    __slots__ = ("calls", "relative_error", "seconds", "seconds_per_task", "squares", "tasks")

    def __init__(self) -> None:
        self.seconds_per_task: float | None = None
        self.relative_error = 0.0
        self._reset()

    def _reset(self) -> None:
        self.calls = self.tasks = 0
        self.seconds = self.squares = 0.0

    def add(self, tasks: int, seconds: float) -> None:
        self.calls += 1
        self.tasks += tasks
        self.seconds += seconds
        self.squares += seconds * seconds / tasks

    def update(self) -> None:
        """Include the samples since the last update, if there are enough."""
        old = self.seconds_per_task
        if self.calls < (_MIN_SAMPLE_CALLS if old is not None else 1) or not self.tasks:
            return
        mean = self.seconds / self.tasks
        variance = max(self.squares / self.tasks - mean * mean, 0.0)
        error = sqrt(variance / self.calls) / mean if mean else 0.0
        if old is None or abs(mean - old) > 3 * max(error, 0.05) * max(mean, old):
            self.seconds_per_task, self.relative_error = mean, error
        else:
            weight = 0.3
            self.seconds_per_task = old + weight * (mean - old)
            self.relative_error = sqrt(
                (1 - weight) ** 2 * self.relative_error**2 + weight**2 * error**2
            )
        self._reset()


class StepState:
    """A step during a run: its queue, and what its calls have shown so far."""

    __slots__ = (
        "bit", "busy_s", "bytes_per_task", "calls", "cost", "expected_tasks", "failed_setups",
        "flush", "is_generator", "max_queued", "max_tasks_per_call", "min_tasks", "output_tasks",
        "pool", "queue", "queued_since", "recycled_after", "seconds_per_task", "setting_up",
        "setup_memory", "setup_s", "spec", "stage_seconds", "target", "tasks_done", "total_setup_s",
        "unplaceable_since", "warm_workers", "warned_large",
    )  # fmt: skip

    def __init__(self, spec: StepSpec, pool: PoolState) -> None:
        self.spec = spec
        self.pool = pool
        self.bit = 1 << spec.first
        self.queue = StepQueue()
        self.queued_since = 0.0
        self.calls = 0
        self.expected_tasks = 0.0
        """Tasks that running calls of the step before will probably return."""

        self.max_queued = NO_LIMIT
        """More waiting tasks than this would not keep its workers busier."""

        self.max_tasks_per_call = 8
        """Grows with the calls that were observed."""

        self.recycled_after = NO_LIMIT
        """After how many tasks its workers are replaced."""

        self.min_tasks = spec.batch_size
        """Fewer tasks than this linger for more."""

        self.seconds_per_task: float | None = None
        self.cost = CostEstimate()
        self.bytes_per_task: float | None = None
        """Bytes of output per input task."""

        self.setup_memory = spec.need.memory
        self.setup_s: float | None = None
        self.total_setup_s = 0.0
        self.setting_up = 0
        self.warm_workers = 0
        self.failed_setups = 0
        self.target = 0
        """How many dedicated workers it should have."""

        self.tasks_done = self.output_tasks = 0
        self.busy_s = 0.0
        self.stage_seconds: dict[int, float] = {}
        self.unplaceable_since: float | None = None
        self.flush = False
        """Whether to run less than a full batch."""

        self.warned_large = self.is_generator = False

    @property
    def fan_out(self) -> float:
        """Output tasks per input task."""
        return self.output_tasks / self.tasks_done if self.tasks_done else 1.0

    @property
    def has_work(self) -> bool:
        return self.queue.tasks > 0 or self.calls > 0

    @property
    def shares_cpus(self) -> bool:
        """Whether more workers than CPUs are allowed, because their number was requested."""
        return self.spec.is_fixed and not self.spec.need.is_special

    @property
    def promised_cpus(self) -> int:
        """CPUs that each dedicated worker holds: only CPUs limit the number of such workers."""
        need = self.spec.need
        return 0 if need.is_special or self.spec.is_fixed else need.cpus

    @property
    def first_sample_at(self) -> float | None:
        """When its first calls, if they still run, are known to take long."""
        if self.seconds_per_task is None and self.calls:
            return self.queued_since + _RELIABLE_S
        return None

    def is_slow(self, now: float) -> bool:
        """Whether the first calls still run although they would have ended if they were short."""
        at = self.first_sample_at
        return at is not None and now >= at

    def reliable_cost(self, now: float) -> float:
        """Return the seconds per task, or 0 until enough was measured to start workers for it.

        Before a first call has ended, the time since it began is used.
        """
        if self.seconds_per_task is None and self.calls:
            elapsed = now - self.queued_since - (self.setup_s or 0.0)
            return elapsed if elapsed > _LONG_FIRST_CALL_S else 0.0
        return self.seconds_per_task or 0.0 if self.busy_s >= _RELIABLE_S else 0.0

    def record_call(self, tasks: int, seconds: float, output_tasks: int, output_bytes: int) -> None:
        per_task, size = seconds / tasks, output_bytes / tasks
        self.seconds_per_task = _smooth(self.seconds_per_task, per_task)
        self.bytes_per_task = _smooth(self.bytes_per_task, size)
        self.max_tasks_per_call = max(self.max_tasks_per_call, 8 * tasks)
        self.cost.add(tasks, seconds)
        self.tasks_done += tasks
        self.output_tasks += output_tasks
        self.busy_s += seconds

    def forget_costs(self) -> None:
        """Start measuring again, because the step now runs other stages."""
        self.seconds_per_task = self.bytes_per_task = None
        self.tasks_done = self.output_tasks = 0
        self.max_tasks_per_call = 8

    def describe_large_output(self, block: Block, store_bytes: float) -> str | None:
        """Return a warning about the first output that is larger than a node's object store."""
        if self.warned_large or not store_bytes or block.size <= store_bytes:
            return None
        self.warned_large = True
        return (
            f"{self.spec.name} returned {block.tasks} task{'s' * (block.tasks != 1)} of "
            f"{block.size / 1e9:.1f} GB together, more than the object store of a node "
            f"({store_bytes / 1e9:.1f} GB): they are spilled to disk, which is slow; return "
            "smaller tasks, or make the store larger (object_store_gb)"
        )


class Barriers:
    """In batch mode: the steps that may not begin because earlier ones still have work."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self.first = 0
        """The first stage of the step that may run."""

        self.closed = ~1 if is_on else 0

    def advance(self, active: int, *, has_ended: bool) -> bool:
        """Return whether another step may run now. Until the sources end it is the first one."""
        if not self.is_on:
            return False
        lowest = active & -active if has_ended else 1
        if not lowest or self.closed == ~lowest:
            return False
        self.closed = ~lowest
        self.first = lowest.bit_length() - 1
        return True


class SchedulerState:
    """What the parts of the scheduler share.

    Who changes what: the lifecycle `nodes` and `workers`; the dispatcher and the fault handler
    `calls`; `update_step` and `update_setup_limits` the sets of steps; backpressure `blocked` and
    `paused`.
    """

    def __init__(self, steps: Sequence[StepSpec], settings: Settings) -> None:
        self.settings = settings
        self.now = 0.0
        self.call_s = settings.min_call_s
        """How much work a call should carry."""

        self.call_bytes = settings.max_bytes_per_call
        """The limit for the inputs and the expected outputs of a call."""

        self.actions: list[Action] = []
        self.length = steps[-1].last + 1
        self.shared = PoolState(None, settings.slots_per_worker)
        self.steps: dict[int, StepState] = {}
        self.nodes: dict[str, Node] = {}
        self.workers: dict[int, Worker] = {}
        self.calls: dict[int, Call] = {}
        self.paused: dict[int, Call] = {}
        self.blocks: dict[Hashable, StoredBlock] = {}
        self.budget = ByteBudget(settings, self.length)
        self.barriers = Barriers(is_on=settings.has_barriers)
        self.nodes_expected_until = 0.0
        """Fixed workers are not placed before this time, because nodes may still join."""

        self.last_done = 0.0
        self.sources_ended = False
        self.ready = 0
        """Steps with tasks that can run now."""

        self.active = 0
        """Steps with waiting tasks or running calls."""

        self.blocked = 0
        """Steps that could run but have no room for their outputs."""

        self.urgent = 0
        """Shared steps that feed a dedicated one with too little to do."""

        self.cheap = 0
        """Shared steps that any worker may set up, because it takes no time."""

        self.cold = 0
        """Shared steps that more workers may set up, because there is enough work."""

        for spec in steps:
            self.add_step(spec)

    def add_step(self, spec: StepSpec) -> StepState:
        slots = self.settings.slots_per_worker
        pool = PoolState(spec.first, slots) if spec.is_dedicated else self.shared
        step = self.steps[spec.first] = StepState(spec, pool)
        task_limits = [limits.max_tasks for limits in spec.limits]
        limit = strictest_limit(self.settings.worker_max_tasks, task_limits)
        step.recycled_after = int(limit) or NO_LIMIT
        if not spec.is_dedicated:
            self.cold |= step.bit
        self.steps = dict(sorted(self.steps.items()))
        return step

    def explain(self, decision: Decision, reason: str, first: int | None = None) -> None:
        self.actions.append(Explain(decision, reason, first))

    @property
    def first_step(self) -> StepState:
        return self.steps[0]

    @property
    def shared_steps(self) -> list[StepState]:
        return [step for step in self.steps.values() if step.pool is self.shared]

    @property
    def dedicated_steps(self) -> list[StepState]:
        return [step for step in self.steps.values() if step.pool is not self.shared]

    @property
    def max_shared_workers(self) -> int:
        """More than there are cores if steps ask for less than one CPU."""
        return sum(node.max_shared_workers for node in self.nodes.values() if node.runnable)

    @property
    def cores(self) -> int:
        return sum(node.cpus for node in self.nodes.values()) // UNIT

    @property
    def is_idle(self) -> bool:
        return not self.active and not self.calls

    def expects_more(self, step: StepState) -> bool:
        """Whether this step may still receive more tasks."""
        return not self.sources_ended or bool(self.active & (step.bit - 1))

    def setup_limit(self, *, worked_before: bool) -> int:
        """Return after how many failures in a row to give up.

        More if it worked before, because workers may be killed from outside.
        """
        return self.settings.setup_attempts * (_KNOWN_SETUP_PATIENCE if worked_before else 1)

    # Stored blocks

    def store(self, block: Block, boundary: int) -> StoredBlock:
        stored = StoredBlock(block, boundary)
        self.blocks[block.handle] = stored
        self.budget.charge(boundary, block.size)
        return stored

    def consume(self, ranges: Sequence[TaskRange]) -> None:
        """Drop these tasks; release blocks whose last task this was."""
        for tasks in ranges:
            stored = tasks.block
            stored.remaining -= tasks.stop - tasks.start
            if stored.remaining == 0:
                self.budget.charge(stored.boundary, -stored.size)
                del self.blocks[stored.handle]
                self.actions.append(Release(stored.handle))

    def push(self, step: StepState, tasks: TaskRange) -> None:
        if not step.queue.tasks:
            step.queued_since = self.now
        step.queue.push(tasks)
        self.update_step(step)

    # Sets of steps

    def update_step(self, step: StepState) -> None:
        """Update the sets of steps after the queue or the calls of this one changed."""
        waiting = step.queue.tasks
        bit = step.bit
        if waiting == 0:
            self.ready &= ~bit
            step.flush = False
        elif bit & self.barriers.closed:
            self.ready &= ~bit
        elif waiting >= step.min_tasks or step.flush or step.queue.suspects:
            self.ready |= bit
        else:
            self.ready &= ~bit
        if waiting or step.calls:
            self.active |= bit
        else:
            self.active &= ~bit
        if step.pool is not self.shared:
            self._update_urgent(step)

    def _update_urgent(self, step: StepState) -> None:
        if step.queue.tasks + step.expected_tasks < 0.5 * min(step.max_queued, NO_LIMIT):
            self.urgent |= self._feeders(step)
        else:
            self.urgent &= ~self._feeders(step)

    def _feeders(self, step: StepState) -> int:
        """The shared steps directly in front of a dedicated one, as bits."""
        bits = 0
        for other in reversed(self.steps.values()):
            if other.spec.first >= step.spec.first:
                continue
            if other.pool is not self.shared:
                break
            bits |= other.bit
        return bits

    def update_setup_limits(self, step: StepState) -> None:
        """Decide whether more workers may set this shared step up.

        Until the setup time is known, only a few may.
        """
        bit, setup_s = step.bit, step.setup_s
        self.cheap &= ~bit
        self.cold &= ~bit
        if setup_s is None:
            if step.setting_up < 2 * len(self.nodes):
                self.cold |= bit
        elif setup_s < CHEAP_SETUP_S and not step.setup_memory:
            self.cheap |= bit
        elif step.warm_workers * setup_s <= step.queue.tasks * (step.seconds_per_task or 0.0):
            self.cold |= bit

    def open_barriers(self, *, has_ended: bool) -> StepState | None:
        """Return the step that may begin now because all work before it is done."""
        if not self.barriers.advance(self.active, has_ended=has_ended):
            return None
        for step in self.steps.values():
            self.update_step(step)
        return self.steps.get(self.barriers.first)


def _smooth(old: float | None, new: float) -> float:
    return new if old is None else 0.7 * old + 0.3 * new
