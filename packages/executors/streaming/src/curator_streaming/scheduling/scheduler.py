"""The scheduler: what happens goes in, what is to be done comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from curator_streaming.scheduling import events
from curator_streaming.scheduling.actions import Action, Explain, Fail
from curator_streaming.scheduling.dispatching import Dispatching
from curator_streaming.scheduling.events import Event
from curator_streaming.scheduling.faults import Faults
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.lacking import Lacking
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.pausing import Pausing
from curator_streaming.scheduling.preparing import Preparing
from curator_streaming.scheduling.queues import Stretch
from curator_streaming.scheduling.recycling import Recycling
from curator_streaming.scheduling.scaling import Scaling
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.sharing import Sharing
from curator_streaming.scheduling.sourcing import Sourcing
from curator_streaming.scheduling.sparing import Sparing
from curator_streaming.scheduling.splitting import split_station
from curator_streaming.scheduling.staffing import Staffing
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.scheduling.summaries import Summary, summary_of
from curator_streaming.scheduling.waits import Waits
from curator_streaming.scheduling.workers import Call, Worker

_MOST_SLOTS = 8


class Scheduler:
    """Keeps every worker busy within a budget of bytes. The same events give the same actions."""

    def __init__(self, steps: Sequence[StepSpec], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._floor = Floor(steps, self.settings)
        self._dispatching = Dispatching(self._floor)
        self._staffing = Staffing(self._floor, self._dispatching)
        self._scaling = Scaling(self._floor, self._staffing)
        self._sharing = Sharing(self._floor, self._staffing)
        self._preparing = Preparing(self._floor, self._dispatching)
        self._lacking = Lacking(self._floor)
        self._sourcing = Sourcing(self._floor)
        self._faults = Faults(self._floor)
        self._pausing = Pausing(self._floor)
        self._recycling = Recycling(self._floor, self._staffing)
        self._sparing = Sparing(self._floor, self._staffing)
        self._until: float | None = None
        self._is_stopping = self._is_ending = self._is_cut = False
        self._next_round = 0.0
        self._waits = Waits(self._floor)
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.NodeJoined: self._node_joined,
            events.NodeLost: self._node_lost,
            events.WorkerUp: self._worker_up,
            events.WorkerDown: self._worker_down,
            events.CallGave: self._call_gave,
            events.CallDone: self._call_done,
            events.CallFailed: self._call_failed,
            events.SetUpMeasured: self._preparing.measured,
            events.SourcesOffered: self._sources_offered,
            events.SourcesEnded: self._sources_ended,
            events.Delivered: self._delivered,
            events.Withdrawn: self._withdrawn,
            events.Tick: self._tick,
            events.StopAsked: self._stop_asked,
        }

    def handle(self, happened: Iterable[Event]) -> list[Action]:
        """What is to be done about all this, in this order."""
        floor = self._floor
        for event in happened:
            if event.at > floor.now:
                floor.now = event.at
            self._handlers[type(event)](event)
        self._settle()
        done, floor.out = floor.out, []
        return done

    @property
    def is_done(self) -> bool:
        """Nothing waits, nothing is under way, and nothing will come or come back.

        What was given and is not yet delivered may have to be made again.
        """
        floor = self._floor
        no_more = self._sourcing.has_ended or self._is_stopping
        return no_more and floor.is_empty and (self._is_cut or not floor.boundaries[floor.length])

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is under way just now."""
        return self._floor.is_empty

    @property
    def is_over(self) -> bool:
        """Done, and every worker is gone."""
        return self.is_done and not self._floor.workers

    @property
    def tells_at(self) -> float | None:
        """By when a tick will do more than the next regular one."""
        return self._sharing.tells_at

    @property
    def queued_bytes(self) -> int:
        """Bytes stored between steps and at work, with those that calls are expected to give."""
        return self._floor.used

    def queues(self) -> dict[int, tuple[int, int]]:
        """Tasks and bytes that wait before each step, by its first stage."""
        boundaries = self._floor.boundaries
        return {s.spec.first: (s.queue.tasks, boundaries[s.spec.first])
                for s in self._floor.stations.values()}  # fmt: skip

    def summary(self) -> Summary:
        return summary_of(self._floor, self._waits)

    def _settle(self) -> None:
        """After all that happened at once: what it makes possible elsewhere."""
        floor = self._floor
        if self._is_cut and floor.active:
            self._forget(frozenset(floor.stored), list(floor.stations.values()))
        if turn := floor.open_barriers(self._sourcing.has_ended or self._is_stopping):
            self._begin_turn(turn)
        if floor.blocked & floor.ready:
            self._dispatching.unblock()
        if floor.paused:
            self._pausing.resume()
        if not self._is_stopping:
            self._sourcing.ask()
        if not floor.active and self.is_done and not self._is_ending:
            self._is_ending = True
            for worker in list(floor.workers.values()):
                self._staffing.let_go(worker, "the work is done")

    def _begin_turn(self, station: Station) -> None:
        """In batch mode: everything is there for the next step."""
        self._scaling.end_turns()
        self._sharing.start()
        self._next_round = 0.0
        self._dispatching.flush(0.0, self._sourcing.has_ended)
        self._dispatching.wake(station)

    # Nodes and workers

    def _node_joined(self, event: events.NodeJoined) -> None:
        self._staffing.welcome(Node(event.node, event.capacity))
        if not self._is_ending:
            self._sharing.start()
            self._next_round = 0.0

    def _node_lost(self, event: events.NodeLost) -> None:
        node = self._floor.nodes.pop(event.node, None)
        if node is None:
            return
        for worker in [w for w in self._floor.workers.values() if w.node is node]:
            self._faults.requeue(self._staffing.gone(worker))
        self._floor.out.append(Explain("node", f"{event.node}: {event.reason}"))
        self._next_round = 0.0
        self._rescue()

    def _worker_up(self, event: events.WorkerUp) -> None:
        if worker := self._floor.workers.get(event.worker):
            if worker.crew.first is None:
                self._preparing.has_started()
            self._staffing.is_up(worker)
            self._recycling.is_up(worker)

    def _worker_down(self, event: events.WorkerDown) -> None:
        worker = self._floor.workers.get(event.worker)
        if worker is None:
            return
        was_starting = self._staffing.is_starting(worker)
        self._recycling.forget(worker)
        calls = self._staffing.gone(worker)
        if event.kind == "setup" or (was_starting and not event.innocent):
            self._faults.requeue(calls)
            self._count_failed_setup(worker, event)
        elif event.kind == "stopped" or event.innocent or not calls:
            self._faults.requeue(calls)
        else:
            culprit = next((call for call in calls if call.id == event.culprit), calls[0])
            self._faults.requeue(call for call in calls if call is not culprit)
            self._faults.blame(culprit, event.reason, event.suspects, event.weight)
        self._dispatching.serve(worker.node)
        if event.kind == "died" and not was_starting:
            self._sparing.died(worker)
        if not self._is_ending and not self._is_stopping:
            self._scaling.fill()
            self._sharing.start()
            self._sparing.look()
        self._rescue()

    def _count_failed_setup(self, worker: Worker, event: events.WorkerDown) -> None:
        first = worker.crew.first if event.first is None else event.first
        if self._is_ending:
            return
        if event.kind == "died" and event.weight < 1:
            problem = self._preparing.too_many_killed(event.reason)
        else:
            problem = self._preparing.too_many_failed(first, worker.node, event.reason)
        if problem:
            self._fail(problem, first)

    def _rescue(self) -> None:
        """Work came back to queues: whoever is free takes it."""
        if self._floor.ready:
            self._dispatching.wake_all()

    # Calls

    def _call_gave(self, event: events.CallGave) -> None:
        if call := self._floor.calls.get(event.call):
            self._take_outputs(call, event.outputs)
            self._pausing.look_at(call)

    def _call_done(self, event: events.CallDone) -> None:
        floor = self._floor
        call = floor.calls.get(event.call)
        if call is None:
            return
        floor.last_done = floor.now
        worker, station = call.worker, call.station
        self._faults.strike(call)
        floor.use_up(call.stretches)
        self._take_outputs(call, event.outputs)
        station.learn(call.tasks, event.seconds, call.given, call.came)
        for stage, seconds in event.stage_seconds.items():
            station.stage_seconds[stage] = station.stage_seconds.get(stage, 0.0) + seconds
        floor.note(station)
        if event.fanned_out is not None and event.fanned_out < station.spec.last:
            split_station(floor, station, event.fanned_out)
        if worker.setting_up & station.bit:
            self._preparing.is_done(worker, station)
        if event.waited > 0.0005 + 0.02 * event.seconds:
            self._deepen(call)
        self._next_call(worker, call, event.rss)

    def _call_failed(self, event: events.CallFailed) -> None:
        call = self._floor.calls.get(event.call)
        if call is None:
            return
        if event.blame:
            self._faults.blame(call, event.reason)
        elif event.lost:
            self._faults.drop(call)
        else:
            self._faults.requeue([call])
        self._next_call(call.worker, call, 0)
        self._dispatching.wake(call.station)

    def _next_call(self, worker: Worker, ended: Call, rss: int) -> None:
        """One call less for this worker: give it another, or let it go."""
        calls = worker.calls
        if calls[0] is ended:
            calls.popleft()
        else:
            calls.remove(ended)
        dispatching = self._dispatching
        if not calls or ended.station.spec.need.cpus == worker.claim:
            dispatching.free(worker)
        if calls and calls[0].station.spec.timeout_s:
            dispatching.watch(calls[0])
        worker.tasks += ended.tasks
        node = worker.node
        if self._recycling.is_on:
            self._recycling.look_at(worker, rss)
        if node.pressing or (node.waiting and not calls):
            dispatching.serve(node)
        if worker.leaving:
            self._staffing.stop_if_idle(worker)
        else:
            dispatching.refill(worker)
        if node.waiting or node.pressing:
            dispatching.serve(node)

    def _deepen(self, call: Call) -> None:
        """The next input was not there in time though it was under way: send more ahead."""
        crew = call.worker.crew
        if call.number_ahead >= crew.slots - 1 and crew.first is not None:
            crew.slots = min(crew.slots + 1, _MOST_SLOTS)

    def _take_outputs(self, call: Call, outputs: Sequence[Parcel]) -> None:
        floor = self._floor
        behind = floor.stations.get(call.last + 1)
        for parcel in outputs:
            call.given += parcel.tasks
            call.came += parcel.size
            if reason := call.station.excess_of(parcel, self.settings.store_bytes):
                floor.out.append(Explain("large", reason, call.station.spec.first))
            back = min(call.reserve, parcel.size)
            if back:
                call.reserve -= back
                floor.charge(call.last + 1, -back)
            if behind is None:
                floor.charge(floor.length, parcel.size)
            elif parcel.tasks:
                self._push(behind, parcel)

    def _push(self, station: Station, parcel: Parcel) -> None:
        floor = self._floor
        stored = floor.store(parcel, station.spec.first)
        floor.push(station, Stretch(stored, 0, parcel.tasks))
        if floor.ready & station.bit:
            self._dispatching.wake(station, parcel.node)

    # Sources and the consumer

    def _sources_offered(self, event: events.SourcesOffered) -> None:
        floor = self._floor
        if not floor.stored:
            self._next_round = 0.0
        for parcel in event.parcels:
            self._sourcing.came(parcel.tasks)
            if parcel.tasks and not self._is_stopping:
                self._push(floor.first, parcel)
        if not self._is_ending:
            self._sharing.start()

    def _sources_ended(self, _: events.SourcesEnded) -> None:
        self._sourcing.has_ended = self._scaling.no_more_sources = True
        self._dispatching.flush(0.0, self._sourcing.has_ended)

    def _delivered(self, event: events.Delivered) -> None:
        self._floor.charge(self._floor.length, -event.size)

    def _withdrawn(self, event: events.Withdrawn) -> None:
        self._forget(frozenset(event.handles), list(self._floor.stations.values()))
        for handle in event.handles:
            stored = self._floor.stored.get(handle)
            if stored is not None:
                stored.withdrawn = True

    def _forget(self, handles: frozenset[Any], stations: Sequence[Station]) -> None:
        for station in stations:
            self._floor.use_up(station.queue.forget(handles))
            self._floor.note(station)

    # Time

    def _tick(self, _: events.Tick) -> None:
        floor = self._floor
        self._scaling.update()
        self._waits.look(0 if self._sourcing.has_ended else self._sourcing.asked)
        self._break_off_hung()
        self._dispatching.flush(self.settings.linger_s, self._sourcing.has_ended)
        if self._until is not None and floor.now >= self._until:
            self._stop_now()
        if not self._is_stopping and not self._is_ending:
            self._preparing.shunning.forgive()
            self._sharing.start()
            self._sparing.look()
            self._round()
        if floor.ready:
            self._dispatching.wake_all()

    def _round(self) -> None:
        floor = self._floor
        has_any = floor.active or floor.workers or not floor.nodes or self.settings.keeps_warm
        if floor.now < self._next_round or not has_any:
            return
        self._next_round = floor.now + self.settings.autoscale_interval_s
        self._scaling.round()
        lacking = self._lacking.waited_too_long()
        if lacking is not None:
            limit = self.settings.shrink_limit_s
            needs = f"{lacking.spec.name} needs {lacking.spec.need} on one node"
            self._fail(f"{needs}, and for {limit:g} s no node had that", lacking.spec.first)

    def _break_off_hung(self) -> None:
        for call in self._dispatching.overdue():
            reason = f"{call.station.spec.name}: a call took longer than its time limit"
            self._staffing.stop_at_once(call.worker, reason)

    # The end

    def _stop_asked(self, event: events.StopAsked) -> None:
        """What has not begun stays undone; what is under way is pushed through."""
        floor = self._floor
        self._until = event.until
        self._is_stopping = True
        self._forget(frozenset(floor.stored), [floor.first])

    def _stop_now(self) -> None:
        floor = self._floor
        self._until = None
        self._is_cut = True
        for worker in list(floor.workers.values()):
            self._staffing.stop_at_once(worker, "the time to finish is over")

    def _fail(self, reason: str, first: int | None) -> None:
        floor = self._floor
        floor.out.append(Fail(reason, first))
        self._is_stopping = self._is_ending = self._is_cut = True
        for worker in list(floor.workers.values()):
            self._staffing.let_go(worker, "the run has failed")
