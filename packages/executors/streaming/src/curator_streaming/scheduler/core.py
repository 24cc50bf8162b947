"""The scheduler: passes each event to the parts concerned, and returns their actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from curator_streaming.scheduler import events
from curator_streaming.scheduler.actions import Action, Fail
from curator_streaming.scheduler.autoscale import Autoscaler
from curator_streaming.scheduler.backpressure import SourceRequests
from curator_streaming.scheduler.blocks import Block, TaskRange
from curator_streaming.scheduler.cluster_size import ClusterSize
from curator_streaming.scheduler.dispatch import Dispatcher
from curator_streaming.scheduler.events import Event
from curator_streaming.scheduler.faults import FaultHandler, MissingResources
from curator_streaming.scheduler.generators import GeneratorControl
from curator_streaming.scheduler.lifecycle import WorkerLifecycle
from curator_streaming.scheduler.rebalancing import Rebalancer
from curator_streaming.scheduler.recycling import Recycler
from curator_streaming.scheduler.resources import Need
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.shared_workers import SharedWorkers
from curator_streaming.scheduler.stage_setup import SetupTracker
from curator_streaming.scheduler.state import Call, Node, SchedulerState, StepState, Worker
from curator_streaming.scheduler.stats import Summary, UtilizationSampler, summarize
from curator_streaming.scheduler.steps import StepSpec, split_spec

_MAX_SLOTS = 8
_JOIN_GRACE_S = 1.5
"""How long after a node joined to wait for the remaining expected nodes."""


class Scheduler:
    """Keeps every worker busy within a byte budget. The same events give the same actions."""

    def __init__(self, steps: Sequence[StepSpec], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._state = SchedulerState(steps, self.settings)
        self._dispatcher = Dispatcher(self._state)
        self._lifecycle = WorkerLifecycle(self._state, self._dispatcher)
        self._autoscaler = Autoscaler(self._state, self._lifecycle)
        self._shared_workers = SharedWorkers(self._state, self._lifecycle)
        self._setups = SetupTracker(self._state, self._dispatcher)
        self._missing = MissingResources(self._state)
        self._cluster_size = ClusterSize(self._state, self._lifecycle)
        self._sources = SourceRequests(self._state)
        self._faults = FaultHandler(self._state)
        self._generators = GeneratorControl(self._state, self._dispatcher, self._lifecycle)
        self._recycler = Recycler(self._state, self._lifecycle)
        self._rebalancer = Rebalancer(self._state, self._lifecycle, self._recycler)
        self._sampler = UtilizationSampler(self._state)
        self._stop_at: float | None = None
        self._is_stopping = False
        """Whether no more sources begin."""

        self._is_ending = False
        """Whether all workers were asked to end."""

        self._is_aborted = False
        """Whether unfinished work is dropped."""

        self._next_autoscale = 0.0
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.NodeJoined: self._node_joined,
            events.NodeLost: self._node_lost,
            events.WorkerUp: self._worker_up,
            events.WorkerDown: self._worker_down,
            events.CallYielded: self._call_yielded,
            events.CallDone: self._call_done,
            events.CallFailed: self._call_failed,
            events.SetupMeasured: self._setups.record,
            events.SourcesOffered: self._sources_offered,
            events.SourcesEnded: self._sources_ended,
            events.Delivered: self._delivered,
            events.BlocksWithdrawn: self._blocks_withdrawn,
            events.Tick: self._tick,
            events.StopRequested: self._stop_requested,
        }

    def handle(self, happened: Iterable[Event]) -> list[Action]:
        """Process these events and return the actions they lead to, both in order."""
        state = self._state
        for event in happened:
            if event.at > state.now:
                state.now = event.at
            self._handlers[type(event)](event)
        self._settle()
        actions, state.actions = state.actions, []
        return actions

    @property
    def is_done(self) -> bool:
        """Whether no work is left. Outputs that were not delivered may have to be made again."""
        state = self._state
        no_more = state.sources_ended or self._is_stopping
        is_delivered = self._is_aborted or not state.budget.undelivered
        return no_more and state.is_idle and is_delivered

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and no call runs at this moment."""
        return self._state.is_idle

    @property
    def waits_for_nodes(self) -> bool:
        """Whether no call runs and a step waits for resources, which has limits of its own."""
        steps = self._state.steps.values()
        return not self._state.calls and any(step.unplaceable_since is not None for step in steps)

    @property
    def is_over(self) -> bool:
        """Whether no work is left and every worker has ended."""
        return self.is_done and not self._state.workers

    @property
    def wake_at(self) -> float | None:
        """When a tick would be useful before the next regular one."""
        return self._shared_workers.wake_at

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait between steps, are being processed, or are expected from calls."""
        return self._state.budget.used

    @property
    def wanted_workers(self) -> Mapping[Need, int]:
        """For how many workers, by what one needs, an autoscaler should bring nodes."""
        return {} if self._is_stopping or self._is_ending else self._cluster_size.wanted

    def queues(self) -> dict[int, tuple[int, int]]:
        """Return the tasks and bytes waiting for each step, by its first stage."""
        sizes = self._state.budget.at_boundary
        return {s.spec.first: (s.queue.tasks, sizes[s.spec.first])
                for s in self._state.steps.values()}  # fmt: skip

    def summary(self) -> Summary:
        return summarize(self._state, self._sampler)

    def _settle(self) -> None:
        """After a group of events: start what they made possible elsewhere."""
        state = self._state
        if self._is_aborted and state.active:
            self._drop_blocks(frozenset(state.blocks), list(state.steps.values()))
        if step := state.open_barriers(has_ended=state.sources_ended or self._is_stopping):
            self._begin_step(step)
        if state.blocked & state.ready:
            self._dispatcher.run_blocked()
        if state.paused:
            self._generators.resume()
        if not self._is_stopping:
            self._sources.request_more()
        if not state.active and self.is_done and not self._is_ending:
            self._is_ending = True
            for worker in list(state.workers.values()):
                self._lifecycle.drain(worker, "the work is done")

    def _begin_step(self, step: StepState) -> None:
        """In batch mode: all input of this step is there."""
        self._autoscaler.end_turns()
        self._shared_workers.start()
        self._next_autoscale = 0.0
        self._dispatcher.flush(0.0)
        self._dispatcher.run_step(step)

    # Nodes and workers

    def _node_joined(self, event: events.NodeJoined) -> None:
        self._lifecycle.add_node(Node(event.node, event.capacity))
        self._cluster_size.node_joined(event.node)
        grace = _JOIN_GRACE_S if event.pending else 0.0
        self._state.nodes_expected_until = self._state.now + grace
        if not self._is_ending:
            self._shared_workers.start()
            self._next_autoscale = 0.0

    def _node_lost(self, event: events.NodeLost) -> None:
        state = self._state
        node = state.nodes.pop(event.node, None)
        unused = self._cluster_size.node_lost(event.node)
        if node is None:
            node = unused
        if node is None:
            return
        for worker in list(node.workers.values()):
            self._faults.requeue(self._lifecycle.remove(worker))
        state.explain("node", f"{event.node}: {event.reason}")
        self._next_autoscale = 0.0
        self._refill_all()

    def _worker_up(self, event: events.WorkerUp) -> None:
        if worker := self._state.workers.get(event.worker):
            if worker.pool.first is None:
                self._setups.record_start()
            self._lifecycle.set_ready(worker)
            self._recycler.worker_ready(worker)

    def _worker_down(self, event: events.WorkerDown) -> None:
        worker = self._state.workers.get(event.worker)
        if worker is None:
            return
        was_starting = self._lifecycle.is_starting(worker)
        self._recycler.worker_down(worker)
        calls = self._lifecycle.remove(worker)
        if event.kind == "setup" or (was_starting and not event.innocent):
            self._faults.requeue(calls)
            self._count_failed_setup(worker, event)
        elif event.kind == "stopped" or event.innocent or not calls:
            self._faults.requeue(calls)
        else:
            culprit = next((call for call in calls if call.id == event.culprit), calls[0])
            self._faults.requeue(call for call in calls if call is not culprit)
            self._faults.blame(culprit, event.reason, event.suspects, event.weight)
        self._dispatcher.serve_waiters(worker.node)
        if event.kind == "died" and not was_starting:
            self._shared_workers.worker_died(worker)
        if not self._is_ending and not self._is_stopping:
            self._autoscaler.start_missing()
            self._shared_workers.start()
            self._shared_workers.update_spare()
        self._refill_all()

    def _count_failed_setup(self, worker: Worker, event: events.WorkerDown) -> None:
        first = worker.pool.first if event.first is None else event.first
        if self._is_ending:
            return
        if event.kind == "died" and event.weight < 1:
            problem = self._setups.record_killed_start(event.reason)
        else:
            problem = self._setups.record_failure(first, worker.node, event.reason)
        if problem:
            self._fail(problem, first)

    def _refill_all(self) -> None:
        if self._state.ready:
            self._dispatcher.refill_all()

    # Calls

    def _call_yielded(self, event: events.CallYielded) -> None:
        if call := self._state.calls.get(event.call):
            self._generators.record_yield(call)
            self._add_outputs(call, event.outputs)
            self._generators.pause_if_full(call)

    def _call_done(self, event: events.CallDone) -> None:
        state = self._state
        call = state.calls.get(event.call)
        if call is None:
            return
        state.last_done = state.now
        worker, step = call.worker, call.step
        self._faults.end_call(call)
        state.consume(call.ranges)
        self._add_outputs(call, event.outputs)
        step.record_call(call.tasks, event.seconds, call.output_tasks, call.output_bytes)
        for stage, seconds in event.stage_seconds.items():
            step.stage_seconds[stage] = step.stage_seconds.get(stage, 0.0) + seconds
        state.update_step(step)
        if event.fanned_out is not None and event.fanned_out < step.spec.last:
            self._split_step(step, event.fanned_out)
        if worker.setting_up & step.bit:
            self._setups.finish(worker, step)
        if event.waited > 0.0005 + 0.02 * event.seconds:
            self._add_slot(call)
        self._next_call(worker, call, event.rss)

    def _call_failed(self, event: events.CallFailed) -> None:
        call = self._state.calls.get(event.call)
        if call is None:
            return
        if event.blame:
            self._faults.blame(call, event.reason)
        elif event.lost:
            self._faults.drop(call)
        else:
            self._faults.requeue([call])
        self._next_call(call.worker, call, 0)
        self._dispatcher.run_step(call.step)

    def _next_call(self, worker: Worker, ended: Call, rss: int) -> None:
        """After a call ended: give the worker another one, or stop it."""
        calls = worker.calls
        if calls[0] is ended:
            calls.popleft()
        else:
            calls.remove(ended)
        dispatcher = self._dispatcher
        if ended.paused and calls:
            dispatcher.take_cpus_at_once(worker)
        elif not calls or ended.step.spec.need.cpus == worker.cpus:
            dispatcher.release_cpus(worker)
        if calls and calls[0].step.spec.timeout_s:
            dispatcher.watch(calls[0])
        worker.tasks += ended.tasks
        node = worker.node
        self._recycler.check(worker, rss)
        if node.priority_waiters or (node.waiters and not calls):
            dispatcher.serve_waiters(node)
        if worker.stop_reason:
            self._lifecycle.stop_if_idle(worker)
        else:
            dispatcher.refill(worker)
        if node.waiters or node.priority_waiters:
            dispatcher.serve_waiters(node)

    def _add_slot(self, call: Call) -> None:
        """A dedicated worker waited for its next input although it was sent: send more ahead."""
        pool = call.worker.pool
        if call.queue_position >= pool.slots - 1 and pool.first is not None:
            pool.slots = min(pool.slots + 1, _MAX_SLOTS)

    def _add_outputs(self, call: Call, outputs: Sequence[Block]) -> None:
        state = self._state
        behind = state.steps.get(call.last + 1)
        for block in outputs:
            call.output_tasks += block.tasks
            call.output_bytes += block.size
            if reason := call.step.describe_large_output(block, self.settings.store_bytes):
                state.explain("large", reason, call.step.spec.first)
            arrived = min(call.reserved_bytes, block.size)
            if arrived:
                call.reserved_bytes -= arrived
                state.budget.charge(call.last + 1, -arrived)
            if behind is None:
                state.budget.charge(state.length, block.size)
            elif block.tasks:
                self._push(behind, block)

    def _push(self, step: StepState, block: Block) -> None:
        state = self._state
        stored = state.store(block, step.spec.first)
        state.push(step, TaskRange(stored, 0, block.tasks))
        if state.ready & step.bit:
            self._dispatcher.run_step(step, block.node)

    def _split_step(self, step: StepState, last: int) -> None:
        """The stage at `last` fans out: run what follows it in separate calls, on all workers."""
        state = self._state
        if step.pool is not state.shared:
            return
        name = step.spec.names[last - step.spec.first]
        total = len(step.spec.names)
        step.spec, rest = split_spec(step.spec, last)
        count = len(step.spec.names)
        step.setup_memory = step.setup_memory * count // total
        behind = state.add_step(rest)
        behind.setup_s = step.setup_s
        for node in state.nodes.values():
            if node.runnable & step.bit:
                node.runnable |= behind.bit
        for worker in state.shared.workers.values():
            if worker.warm & step.bit:
                held = worker.setup_memory[step.spec.first]
                worker.setup_memory[step.spec.first] = held * count // total
                worker.setup_memory[rest.first] = held - held * count // total
                worker.warm |= behind.bit
                behind.warm_workers += 1
        step.forget_costs()
        reason = f"{name} returns several tasks for one: the stages behind it run separately"
        state.explain("split", reason, step.spec.first)

    # Sources and the consumer

    def _sources_offered(self, event: events.SourcesOffered) -> None:
        state = self._state
        if not state.blocks:
            self._next_autoscale = 0.0
        for block in event.blocks:
            self._sources.record_arrival(block.tasks)
            if block.tasks and not self._is_stopping:
                self._push(state.first_step, block)
        if not self._is_ending:
            self._shared_workers.start()

    def _sources_ended(self, _: events.SourcesEnded) -> None:
        self._state.sources_ended = True
        self._dispatcher.flush(0.0)

    def _delivered(self, event: events.Delivered) -> None:
        self._state.budget.charge(self._state.length, -event.size)

    def _blocks_withdrawn(self, event: events.BlocksWithdrawn) -> None:
        self._drop_blocks(frozenset(event.handles), list(self._state.steps.values()))
        for handle in event.handles:
            stored = self._state.blocks.get(handle)
            if stored is not None:
                stored.withdrawn = True

    def _drop_blocks(self, handles: frozenset[Any], steps: Sequence[StepState]) -> None:
        for step in steps:
            self._state.consume(step.queue.remove(handles))
            self._state.update_step(step)

    # Time

    def _tick(self, _: events.Tick) -> None:
        state = self._state
        self._dispatcher.update_call_length()
        self._autoscaler.update_queue_limits()
        self._sampler.sample(0 if state.sources_ended else self._sources.pending)
        self._kill_overdue()
        self._dispatcher.flush(self.settings.linger_s)
        if self._stop_at is not None and state.now >= self._stop_at:
            self._abort()
        if not self._is_stopping and not self._is_ending:
            self._setups.exclusions.expire()
            self._shared_workers.start()
            self._shared_workers.update_spare()
            self._generators.update()
            self._autoscale()
        self._refill_all()

    def _autoscale(self) -> None:
        state = self._state
        has_any = state.active or state.workers or not state.nodes or self.settings.keeps_warm
        if state.now < self._next_autoscale or not has_any:
            return
        self._next_autoscale = state.now + self.settings.autoscale_interval_s
        self._autoscaler.run()
        self._rebalancer.run()
        self._cluster_size.run()
        expired = self._missing.find_expired()
        if expired is not None:
            self._fail(self._missing.describe_expired(expired), expired.spec.first)

    def _kill_overdue(self) -> None:
        for call in self._dispatcher.find_overdue():
            reason = f"{call.step.spec.name}: a call exceeded its time limit"
            self._lifecycle.kill(call.worker, reason)

    # The end

    def _stop_requested(self, event: events.StopRequested) -> None:
        """Drop sources that have not begun, and finish what is under way."""
        state = self._state
        self._stop_at = event.until
        self._is_stopping = True
        self._drop_blocks(frozenset(state.blocks), [state.first_step])

    def _abort(self) -> None:
        self._stop_at = None
        self._is_aborted = True
        for worker in list(self._state.workers.values()):
            self._lifecycle.kill(worker, "the time to finish is over")

    def _fail(self, reason: str, first: int | None) -> None:
        self._state.actions.append(Fail(reason, first))
        self._is_stopping = self._is_ending = self._is_aborted = True
        for worker in list(self._state.workers.values()):
            self._lifecycle.drain(worker, "the run has failed")
