"""The simulation: does what the scheduler asks for, in its own time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any

from curator_streaming.scheduling import actions, events
from curator_streaming.scheduling.parcels import Parcel, Piece
from curator_streaming.scheduling.scheduler import Scheduler
from curator_streaming.scheduling.settings import Settings
from curator_streaming.simulating.ledgers import Ledger, Outcomes
from curator_streaming.simulating.measures import Measures
from curator_streaming.simulating.workers import SimulatedCall, SimulatedWorker
from curator_streaming.simulating.workloads import SimulatedNode, SimulatedStep

CHILDREN = 64
"""Ids: the k-th child of task t is t * CHILDREN + k, where a step fans out."""


@dataclass(frozen=True)
class Physics:
    """How long things take that are no work."""

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
        physics: Physics | None = None,
    ) -> None:
        self.steps = steps
        self.nodes = {node.name: node for node in nodes}
        self.specs = [step.spec(i) for i, step in enumerate(steps)]
        self.scheduler = Scheduler(self.specs, settings)
        self.physics = physics or Physics()
        self.sources = sources
        self.now = 0.0
        self.decisions = 0
        self.failure = ""
        self.workers: dict[int, SimulatedWorker] = {}
        self.explained: list[actions.Explain] = []
        self.ledger = Ledger()
        self.outcomes = Outcomes()
        self.measures = Measures(self.specs)
        self._next_source = 1
        self._handles = count(1)
        self._store: dict[int, list[int]] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._order = count()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._happened: list[events.Event] = []
        self._does: dict[type, Callable[[Any], None]] = {
            actions.Dispatch: self._dispatch,
            actions.Release: self._release,
            actions.AskForSources: lambda action: self._offer(action.tasks),
            actions.StartWorker: self._start,
            actions.StopWorker: self._stop,
            actions.Explain: self.explained.append,
            actions.GiveUp: self._give_up,
            actions.Fail: self._fail,
            actions.TearDown: self._tear_down,
        }
        for node in nodes:
            self.ledger.join(node)
            self._happened.append(events.NodeJoined(0.0, node.name, node.capacity))

    # Time

    def at(self, when: float, what: Callable[[], None]) -> None:
        heappush(self._heap, (when, next(self._order), what))

    def tell(self, event: events.Event) -> None:
        self._happened.append(event)

    def run(self, until: float = 1e9) -> Measures:
        """Go on until everything is done, or for so long."""
        self._happened.append(events.Tick(self.now))
        self._consult()
        self.at(self.now + self.scheduler.settings.tick_s, self._tick)
        while self._heap and self._heap[0][0] <= until and not self.scheduler.is_over:
            now = self.now = self._heap[0][0]
            while self._heap and self._heap[0][0] <= now:
                heappop(self._heap)[2]()
            if self._happened:
                self._consult()
        self.measures.end(self.now, self.scheduler, self.workers.values())
        return self.measures

    def _tick(self) -> None:
        self.tell(events.Tick(self.now))
        self.at(self.now + self.scheduler.settings.tick_s, self._tick)

    def _consult(self) -> None:
        happened, self._happened = self._happened, []
        wanted = self.scheduler.handle(happened)
        self.decisions += len(wanted)
        for action in wanted:
            self._do(action)

    def _do(self, action: actions.Action) -> None:
        does = self._does.get(type(action))
        if does is not None:
            does(action)

    def _give_up(self, action: actions.GiveUp) -> None:
        self.outcomes.given_up.update(self._tasks_of([action.piece]))

    def _fail(self, action: actions.Fail) -> None:
        self.failure = action.reason

    def _tear_down(self, action: actions.TearDown) -> None:
        if action.worker in self.workers:
            self.workers[action.worker].warm -= set(range(action.first, action.last + 1))

    # Sources and parcels

    def _offer(self, wanted: int) -> None:
        stop = min(self._next_source + wanted, self.sources + 1)
        tasks = list(range(self._next_source, stop))
        self._next_source = stop
        took = len(tasks) / self.physics.sources_per_s

        def arrive() -> None:
            if tasks:
                size = self.physics.source_bytes * len(tasks)
                self.tell(events.SourcesOffered(self.now, (self._parcel(tasks, size, ""),)))
            if stop > self.sources:
                self.tell(events.SourcesEnded(self.now))

        self.at(self.now + took + 1e-6, arrive)

    def _parcel(self, tasks: list[int], size: int, node: str) -> Parcel:
        handle = next(self._handles)
        self._store[handle] = tasks
        self._places[handle] = (node, size)
        return Parcel(handle, len(tasks), size, node)

    def _release(self, action: actions.Release) -> None:
        handle = action.handle
        assert isinstance(handle, int)
        del self._store[handle], self._places[handle]

    def _tasks_of(self, pieces: Sequence[Piece]) -> list[int]:
        tasks: list[int] = []
        for piece in pieces:
            assert isinstance(piece.handle, int)
            tasks += self._store[piece.handle][piece.start : piece.stop]
        return tasks

    # Workers

    def _start(self, action: actions.StartWorker) -> None:
        worker = SimulatedWorker(action.worker, self.nodes[action.node], action.first, action.grant)
        self.workers[action.worker] = worker
        self.ledger.start(worker)
        setup = 0.0 if action.first is None else self.steps[action.first].setup_s
        setup *= worker.node.slowness

        def up() -> None:
            if worker.is_gone or worker.is_leaving:
                return
            worker.is_up = True
            worker.up_at = worker.free_since = self.now
            self.tell(events.WorkerUp(self.now, worker.number))
            if action.first is not None:
                worker.warm.add(action.first)
                self.measures.up(worker, self.now)
                self.tell(events.SetUpMeasured(self.now, worker.number, action.first, setup))

        self.at(self.now + self.physics.start_s + setup, up)

    def _stop(self, action: actions.StopWorker) -> None:
        worker = self.workers.get(action.worker)
        if worker is None:
            return
        worker.is_leaving = True
        self.at(self.now + 0.05, lambda: self.down(worker, "stopped", "stopped"))

    def down(self, worker: SimulatedWorker, reason: str, kind: events.DownKind = "died") -> None:
        """A worker ends, for whatever reason."""
        if worker.is_gone:
            return
        self._remove(worker)
        if kind == "died" and not worker.is_up:
            kind = "stopped"  # a process that did not start: not what is simulated here
        self.tell(events.WorkerDown(self.now, worker.number, reason, kind))

    def _remove(self, worker: SimulatedWorker) -> None:
        worker.is_gone = True
        del self.workers[worker.number]
        self.ledger.end(worker)
        self.measures.down(worker, self.now)

    def lose_node(self, name: str) -> None:
        for worker in [w for w in self.workers.values() if w.node.name == name]:
            self._remove(worker)
        self.tell(events.NodeLost(self.now, name))

    def gain_node(self, node: SimulatedNode) -> None:
        self.nodes[node.name] = node
        self.ledger.join(node)
        self.tell(events.NodeJoined(self.now, node.name, node.capacity))

    # Calls

    def _dispatch(self, action: actions.Dispatch) -> None:
        worker = self.workers.get(action.worker)
        if worker is None:
            return
        self.ledger.begin(worker, self.specs[action.first])
        physics = self.physics
        ready = self.now + physics.latency_s
        for piece in action.pieces:
            assert isinstance(piece.handle, int)
            node, size = self._places[piece.handle]
            if node and node != worker.node.name:
                share = size * len(piece) / len(self._store[piece.handle])
                ready += physics.latency_s + share / physics.bandwidth
        worker.calls.append(SimulatedCall(action, self._tasks_of(action.pieces), ready))
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
        seconds = 0.0
        for task in call.tasks:
            if task in step.poison and not call.dispatch.condemned:
                self.at(begun + seconds, lambda: self.down(worker, "was killed by SIGKILL"))
                return
            seconds += step.duration(task, begun)
        seconds = self.physics.overhead_s + seconds * worker.node.slowness
        waited = start - worker.free_since
        self.at(begun + seconds, lambda: self._end(worker, call, seconds, waited))

    def _measured(self, worker: SimulatedWorker, first: int, seconds: float) -> None:
        if not worker.is_gone:
            self.tell(events.SetUpMeasured(self.now, worker.number, first, seconds))

    def _end(
        self, worker: SimulatedWorker, call: SimulatedCall, seconds: float, waited: float
    ) -> None:
        if worker.is_gone:
            return
        action = call.dispatch
        worker.calls.popleft()
        worker.is_working = False
        worker.free_since = self.now
        self.ledger.finish(worker, self.specs[action.first])
        self.measures.worked(action.first, self.now - seconds, self.now, len(call.tasks))
        outputs = self._outputs(worker, call)
        self.tell(events.CallDone(self.now, action.call, outputs, seconds, max(waited, 0.0)))
        if worker.calls:
            self._begin(worker)

    def _outputs(self, worker: SimulatedWorker, call: SimulatedCall) -> tuple[Parcel, ...]:
        step = self.steps[call.dispatch.first]
        tasks = call.tasks
        if call.dispatch.condemned:
            self.outcomes.condemned.update(tasks)
            return ()
        if step.gives != 1:
            tasks = [task * CHILDREN + k for task in tasks for k in range(step.gives)]
        if call.dispatch.last == len(self.steps) - 1:
            self.outcomes.delivered.update(tasks)
            self.measures.delivered(self.now, len(tasks))
            return ()
        if not tasks:
            return ()
        return (self._parcel(tasks, step.gives_bytes * len(tasks), worker.node.name),)
