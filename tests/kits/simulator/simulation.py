"""The simulation: carries out the actions of the scheduler in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.blocks import Block, BlockSlice
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.settings import Settings

from simulator.audit import Outcomes, ResourceAudit
from simulator.driver_costs import DriverCosts
from simulator.measures import Measures
from simulator.workers import SimulatedCall, SimulatedWorker
from simulator.workloads import SimulatedNode, SimulatedStep

CHILDREN = 64
"""If a step fans out, the k-th child of task t is t * CHILDREN + k."""


@dataclass(frozen=True)
class Delays:
    """Delays that are not work."""

    latency_s: float = 0.001
    overhead_s: float = 0.0005
    start_s: float = 0.3
    bandwidth: float = 1e9
    source_bytes: int = 200
    sources_per_s: float = 1e6


class Simulation:
    """One run of some steps on some nodes, over sources numbered from 1."""

    def __init__(
        self,
        steps: Sequence[SimulatedStep],
        nodes: Sequence[SimulatedNode],
        sources: int,
        settings: Settings | None = None,
        delays: Delays | None = None,
        costs: DriverCosts | None = None,
    ) -> None:
        self.steps = steps
        self.nodes = {node.name: node for node in nodes}
        self.specs = [step.spec(i) for i, step in enumerate(steps)]
        self.scheduler = Scheduler(self.specs, settings)
        self.delays = delays or Delays()
        self.costs = costs or DriverCosts()
        self.sources = sources
        self.now = 0.0
        self.decisions = 0
        self.failure = ""
        self.workers: dict[int, SimulatedWorker] = {}
        self.explained: list[actions.Explain] = []
        self.audit = ResourceAudit()
        self.outcomes = Outcomes()
        self.measures = Measures(self.specs)
        self._next_source = 1
        self._handles = count(1)
        self._store: dict[int, list[int]] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._order = count()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._events: list[events.Event] = []
        self._driver_free_at = 0.0
        self._pending_calls = 0
        self._ended_calls: dict[int, SimulatedWorker] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            actions.Release: self._release,
            actions.RequestSources: lambda action: self._offer(action.tasks),
            actions.StartWorker: self._start,
            actions.StopWorker: self._stop,
            actions.Explain: self.explained.append,
            actions.GiveUp: self._give_up,
            actions.Fail: self._fail,
            actions.TearDown: self._tear_down,
            actions.Pause: self._pause,
            actions.Resume: self._resume,
        }
        for node in nodes:
            self.audit.add_node(node)
            self._events.append(events.NodeJoined(0.0, node.name, node.capacity))

    # Time

    def at(self, when: float, action: Callable[[], None]) -> None:
        heappush(self._heap, (when, next(self._order), action))

    def add_event(self, event: events.Event) -> None:
        self._events.append(event)

    def run(self, until: float = 1e9) -> Measures:
        """Run until everything is done, or until this time."""
        self._events.append(events.Tick(self.now))
        self._run_scheduler()
        self.at(self.now + self.scheduler.settings.tick_s, self._tick)
        while self._heap and self._heap[0][0] <= until and not self.scheduler.is_over:
            now = self.now = self._heap[0][0]
            while self._heap and self._heap[0][0] <= now:
                heappop(self._heap)[2]()
            if self._events and now >= self._driver_free_at:
                self._run_scheduler()
        self.measures.end(self.now, self.scheduler, self.workers.values())
        return self.measures

    def _tick(self) -> None:
        self.add_event(events.Tick(self.now))
        self.at(self.now + self.scheduler.settings.tick_s, self._tick)

    def _run_scheduler(self) -> None:
        """Take one turn of the driver, which is busy for what it costs."""
        new, self._events = self._events, []
        wanted = self.scheduler.handle(new)
        self.decisions += len(wanted)
        free_at = self.now + self.costs.receive(new, self._pending_calls)
        for action in wanted:
            if isinstance(action, actions.Dispatch):
                free_at += self.costs.send(action)
                self._dispatch(action, free_at)
            else:
                self._do(action)
        self.measures.drove(self.now, free_at)
        self._driver_free_at = free_at
        self.at(free_at, lambda: None)

    def _do(self, action: actions.Action) -> None:
        handler = self._handlers.get(type(action))
        if handler is not None:
            handler(action)

    def _give_up(self, action: actions.GiveUp) -> None:
        self.outcomes.given_up.update(self._tasks_of([action.task]))

    def _fail(self, action: actions.Fail) -> None:
        self.failure = action.reason

    def _tear_down(self, action: actions.TearDown) -> None:
        if action.worker in self.workers:
            self.workers[action.worker].warm -= set(range(action.first, action.last + 1))

    # Sources and blocks

    def _offer(self, wanted: int) -> None:
        stop = min(self._next_source + wanted, self.sources + 1)
        tasks = list(range(self._next_source, stop))
        self._next_source = stop
        took = len(tasks) / self.delays.sources_per_s

        def arrive() -> None:
            if tasks:
                size = self.delays.source_bytes * len(tasks)
                self.add_event(events.SourcesOffered(self.now, (self._block(tasks, size, ""),)))
            if stop > self.sources:
                self.add_event(events.SourcesEnded(self.now))

        self.at(self.now + took + 1e-6, arrive)

    def _block(self, tasks: list[int], size: int, node: str) -> Block:
        handle = next(self._handles)
        self._store[handle] = tasks
        self._places[handle] = (node, size)
        return Block(handle, len(tasks), size, node)

    def _release(self, action: actions.Release) -> None:
        handle = action.handle
        assert isinstance(handle, int)
        del self._store[handle], self._places[handle]

    def _tasks_of(self, slices: Sequence[BlockSlice]) -> list[int]:
        tasks: list[int] = []
        for part in slices:
            assert isinstance(part.handle, int)
            tasks += self._store[part.handle][part.start : part.stop]
        return tasks

    # Workers

    def _start(self, action: actions.StartWorker) -> None:
        worker = SimulatedWorker(action.worker, self.nodes[action.node], action.first, action.grant)
        self.workers[action.worker] = worker
        self.audit.start_worker(worker)
        setup = 0.0 if action.first is None else self.steps[action.first].setup_s
        setup *= worker.node.slowness

        def up() -> None:
            if worker.is_gone or worker.is_leaving:
                return
            worker.is_up = True
            worker.up_at = worker.free_since = self.now
            self.add_event(events.WorkerUp(self.now, worker.number))
            if action.first is not None:
                worker.warm.add(action.first)
                self.measures.worker_up(worker, self.now)
                self.add_event(events.SetupMeasured(self.now, worker.number, action.first, setup))

        self.at(self.now + self.delays.start_s + setup, up)

    def _stop(self, action: actions.StopWorker) -> None:
        worker = self.workers.get(action.worker)
        if worker is None:
            return
        worker.is_leaving = True
        self.at(self.now + 0.05, lambda: self.down(worker, "stopped", "stopped"))

    def down(self, worker: SimulatedWorker, reason: str, kind: events.DownKind = "died") -> None:
        """End a worker: killed, unless `kind` says otherwise."""
        if worker.is_gone:
            return
        self._remove(worker)
        if kind == "died" and not worker.is_up:
            kind = "stopped"  # processes that fail to start are not simulated
        self.add_event(events.WorkerDown(self.now, worker.number, reason, kind))

    def _remove(self, worker: SimulatedWorker) -> None:
        worker.is_gone = True
        self._pending_calls -= len(worker.calls)
        del self.workers[worker.number]
        self.audit.end_worker(worker)
        self.measures.worker_down(worker, self.now)

    def lose_node(self, name: str) -> None:
        for worker in [w for w in self.workers.values() if w.node.name == name]:
            self._remove(worker)
        self.add_event(events.NodeLost(self.now, name))

    def gain_node(self, node: SimulatedNode) -> None:
        self.nodes[node.name] = node
        self.audit.add_node(node)
        self.add_event(events.NodeJoined(self.now, node.name, node.capacity))

    # Calls

    def _dispatch(self, action: actions.Dispatch, sent_at: float) -> None:
        worker = self.workers.get(action.worker)
        if worker is None:
            return
        self.audit.begin_call(worker, self.specs[action.first])
        delays = self.delays
        ready = sent_at + delays.latency_s
        for part in action.inputs:
            assert isinstance(part.handle, int)
            node, size = self._places[part.handle]
            if node and node != worker.node.name:
                share = size * len(part) / len(self._store[part.handle])
                ready += delays.latency_s + share / delays.bandwidth
        self._pending_calls += 1
        worker.calls.append(SimulatedCall(action, self._tasks_of(action.inputs), ready))
        if not worker.is_working:
            self._begin(worker)

    def _begin(self, worker: SimulatedWorker) -> None:
        call = worker.calls[0]
        worker.is_working = True
        first = call.dispatch.first
        start = max(self.now, call.ready_at)
        step = self.steps[first]
        setup = 0.0
        if first not in worker.warm:
            setup = step.setup_s * worker.node.slowness
            worker.warm.add(first)
            self.at(
                start + setup,
                lambda: self._measured(worker, first, setup),
            )
        begun = start + setup
        if step.yields:
            self.at(begun + step.duration(call.tasks[0], begun), lambda: self._yield(worker, call))
            return
        seconds = 0.0
        for task in call.tasks:
            if task in step.poison and not call.dispatch.quarantine:
                self.at(begun + seconds, lambda: self.down(worker, "was killed by SIGKILL"))
                return
            seconds += step.duration(task, begun)
        seconds = self.delays.overhead_s + seconds * worker.node.slowness
        waited = start - worker.free_since
        self.at(begun + seconds, lambda: self._end(worker, call, seconds, waited))

    def _yield(self, worker: SimulatedWorker, call: SimulatedCall) -> None:
        """Yield the next output of a generator, or wait until it is resumed."""
        if worker.is_gone:
            return
        call.is_blocked = call.is_paused
        if call.is_blocked:
            return
        step = self.steps[call.dispatch.first]
        task = call.tasks[call.yielded // step.fan_out]
        child = task * CHILDREN + call.yielded % step.fan_out
        call.yielded += 1
        outputs: tuple[Block, ...] = ()
        if call.dispatch.last == len(self.steps) - 1:
            self.outcomes.delivered[child] += 1
            self.measures.delivered(self.now, 1)
        else:
            outputs = (self._block([child], step.output_bytes, worker.node.name),)
        self.add_event(events.CallYielded(self.now, call.dispatch.call, outputs))
        if call.yielded < len(call.tasks) * step.fan_out:
            seconds = step.duration(task, self.now)
            self.at(self.now + seconds, lambda: self._yield(worker, call))
            return
        seconds = call.yielded * step.seconds(self.now)
        self.at(self.now, lambda: self._end(worker, call, seconds, 0.0))

    def _find_call(self, number: int) -> tuple[SimulatedWorker, SimulatedCall] | None:
        for worker in self.workers.values():
            for call in worker.calls:
                if call.dispatch.call == number:
                    return worker, call
        return None

    def _pause(self, action: actions.Pause) -> None:
        if found := self._find_call(action.call):
            found[1].is_paused = True
            self.audit.pause(found[0])
        else:
            self.audit.pause_too_late(self._ended_calls[action.call])

    def _resume(self, action: actions.Resume) -> None:
        if found := self._find_call(action.call):
            worker, call = found
            call.is_paused = False
            self.audit.resume(worker)
            if call.is_blocked:
                self._yield(worker, call)

    def _measured(self, worker: SimulatedWorker, first: int, seconds: float) -> None:
        if not worker.is_gone:
            self.add_event(events.SetupMeasured(self.now, worker.number, first, seconds))

    def _end(
        self, worker: SimulatedWorker, call: SimulatedCall, seconds: float, waited: float
    ) -> None:
        if worker.is_gone:
            return
        action = call.dispatch
        worker.calls.popleft()
        self._ended_calls[action.call] = worker
        self._pending_calls -= 1
        worker.is_working = False
        worker.free_since = self.now
        self.audit.end_call(worker, self.specs[action.first])
        self.measures.worked(action.first, self.now - seconds, self.now, len(call.tasks))
        outputs = self._outputs(worker, call)
        self.add_event(events.CallDone(self.now, action.call, outputs, seconds, max(waited, 0.0)))
        if worker.calls:
            self._begin(worker)

    def _outputs(self, worker: SimulatedWorker, call: SimulatedCall) -> tuple[Block, ...]:
        step = self.steps[call.dispatch.first]
        tasks = call.tasks
        if step.yields:
            return ()
        if call.dispatch.quarantine:
            self.outcomes.quarantined.update(tasks)
            return ()
        if step.fan_out != 1:
            tasks = [task * CHILDREN + k for task in tasks for k in range(step.fan_out)]
        if call.dispatch.last == len(self.steps) - 1:
            self.outcomes.delivered.update(tasks)
            self.measures.delivered(self.now, len(tasks))
            return ()
        if not tasks:
            return ()
        return (self._block(tasks, step.output_bytes * len(tasks), worker.node.name),)
