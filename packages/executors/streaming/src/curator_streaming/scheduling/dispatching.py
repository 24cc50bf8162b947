"""Dispatching: which worker does what next, and how much of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, islice
from math import ceil

from curator_streaming.scheduling.actions import Dispatch, TearDown
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.workers import UP, Call, Crew, Worker

_URGENT_BELOW = 0.7
"""Feeding a GPU comes before draining only while so much of the budget is not used up."""

_TRIES = 8
_NOT_THERE = object()


class Dispatching:
    """Fills workers: later steps first, unless a dedicated step behind is about to run dry."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.deadlines: list[tuple[float, int]] = []
        self._numbers = count(1)
        self._room = 0
        self._urgent_below = _URGENT_BELOW * floor.settings.max_queued_bytes

    # Who

    def wake(self, station: Station, node: str = "") -> None:
        """There is something to do: give it to workers that want work, those on `node` first."""
        floor = self.floor
        crew = station.crew
        while floor.ready & station.bit:
            worker = crew.willing(node)
            if worker is None or not self.refill(worker):
                break
        else:
            return
        if worker is not None and crew is floor.shared:
            self._wake_elsewhere(crew)

    def _wake_elsewhere(self, crew: Crew) -> None:
        """The nearest worker could not take it, for want of CPUs or memory: perhaps another can."""
        for places in crew.open:
            for here in list(islice(places.values(), _TRIES)):
                self.refill(next(iter(here)))

    def wake_all(self) -> None:
        """Every worker that wants work looks once more: cheap, for few do while there is work."""
        for crew in (self.floor.shared, *(s.crew for s in self.floor.stations.values())):
            for places in crew.open:
                for worker in [worker for here in places.values() for worker in here]:
                    if not self.floor.ready:
                        return
                    self.refill(worker)

    def unblock(self) -> None:
        """Bytes or places came free: steps that waited for them, the last one first."""
        floor = self.floor
        blocked, floor.blocked = floor.blocked & floor.ready, 0
        while blocked:
            first = blocked.bit_length() - 1
            blocked &= ~(1 << first)
            self.wake(floor.stations[first])

    def flush(self, linger: float, has_ended: bool) -> None:
        """Tasks that waited long enough for a full batch, or wait in vain, are run as they are."""
        floor = self.floor
        for station in floor.stations.values():
            if not station.queue.tasks or floor.ready & station.bit:
                continue
            quiet = has_ended and not floor.active & (station.bit - 1)
            if quiet or floor.now - station.waiting_since >= linger:
                station.flush = True
                floor.note(station)
                self.wake(station)

    def serve(self, node: Node) -> None:
        """CPUs came free here: whoever waits for them, pressing ones first."""
        while node.free_cpus > 0 and (node.pressing or node.waiting):
            queue = node.pressing or node.waiting
            worker = next(iter(queue))
            pressed = worker in node.pressing
            del queue[worker]
            self.refill(worker, pressed)
            if worker in node.pressing or worker in node.waiting:
                return

    def free(self, worker: Worker) -> None:
        """Give back the CPUs that the calls left to a worker do not need."""
        need = max((call.station.spec.need.cpus for call in worker.calls), default=0)
        if need < worker.claim:
            worker.node.free_cpus += worker.claim - need
            worker.claim = need

    # What

    def refill(self, worker: Worker, pressed: bool = False) -> bool:
        """Give a worker calls until it has enough; whether it got one."""
        if worker.state != UP:
            return False
        node, crew = worker.node, worker.crew
        if node.waiting or node.pressing:
            node.waiting.pop(worker, None)
            pressed = node.pressing.pop(worker, _NOT_THERE) is None or pressed
        began = len(worker.calls)
        while len(worker.calls) < crew.slots:
            station = self._choose(worker)
            if station is None:
                crew.offer(worker)
                return len(worker.calls) > began
            if not self._claim(worker, station, pressed):
                crew.withdraw(worker)
                return len(worker.calls) > began
            self._dispatch(worker, station)
        crew.withdraw(worker)
        return True

    def _choose(self, worker: Worker) -> Station | None:
        floor = self.floor
        first = worker.crew.first
        if first is not None:
            station = floor.stations[first]
            self._room = floor.room_for(station) if floor.ready & station.bit else 0
            return station if self._room else None
        wanted = floor.ready & worker.node.fits & (worker.warm | floor.cheap | floor.cold)
        urgent = wanted & floor.urgent if floor.used < self._urgent_below else 0
        while wanted:
            first = (urgent or wanted).bit_length() - 1
            station = floor.stations[first]
            if self._has_place(worker, station):
                self._room = floor.room_for(station)
                if self._room:
                    return station
            wanted &= ~station.bit
            urgent &= ~station.bit
        return None

    def _has_place(self, worker: Worker, station: Station) -> bool:
        """Whether the step is set up in this worker, or can be."""
        if worker.warm & station.bit:
            return True
        if station.memory <= worker.node.memory or not worker.holds:
            return station.spec.need.memory <= worker.node.memory
        busy = {call.station.spec.first for call in worker.calls}
        spare = sum(size for first, size in worker.holds.items() if first not in busy)
        return station.memory <= worker.node.memory + spare

    def _claim(self, worker: Worker, station: Station, pressed: bool) -> bool:
        """Take the CPUs for the step, or wait for them."""
        node = worker.node
        need = station.spec.need.cpus
        extra = need - worker.claim
        is_shared = worker.crew.first is None
        makes_way = is_shared and not pressed and bool(node.pressing)
        if extra <= 0:
            return not (makes_way and worker.calls)
        if extra <= node.free_cpus and not makes_way:
            node.free_cpus -= extra
            worker.claim = need
            return True
        if not is_shared or need * node.slots > node.cpus:
            node.pressing[worker] = None
        else:
            node.waiting[worker] = None
        return False

    # How much

    def _chunk(self, station: Station) -> int:
        """Tasks for one call: tens of milliseconds of work, and a share for everybody."""
        settings, waiting = self.floor.settings, station.queue.tasks
        most = settings.max_tasks_per_call
        batch = station.spec.batch_size
        if station.cost is None:
            tasks = 1
        else:
            aim = settings.call_s / station.cost if station.cost > 0 else most
            tasks = ceil(min(aim, most, station.most_per_call)) or 1
            crew = station.crew
            share = waiting // (crew.slots * (crew.up or 1))
            tasks = min(tasks, max(share, tasks // 4, 1))
        if station.out_bytes:
            tasks = min(tasks, int(settings.max_bytes_per_call / station.out_bytes) or 1)
        if batch > 1:
            tasks = max(batch, tasks - tasks % batch)
        return min(tasks, self._room, waiting)

    def _dispatch(self, worker: Worker, station: Station) -> None:
        floor = self.floor
        queue = station.queue
        spec = station.spec
        if queue.suspects:
            stretches = [queue.take_suspect()]
        else:
            stretches = queue.take(
                worker.node.name, self._chunk(station), floor.settings.max_bytes_per_call
            )
        call = Call(next(self._numbers), worker, station, stretches)
        for stretch in stretches:
            call.tasks += stretch.stop - stretch.start
        call.alone = stretches[0].suspect
        call.condemned = stretches[0].deaths >= floor.settings.deaths_alone
        if not worker.warm & station.bit:
            self._set_up(worker, station)
        worker.calls.append(call)
        floor.calls[call.id] = call
        station.calls += 1
        self._reserve(call)
        station.waiting_since = floor.now
        station.flush = station.flush and queue.tasks > 0
        floor.note(station)
        if spec.timeout_s and len(worker.calls) == 1:
            self.watch(call)
        pieces = tuple([stretch.piece for stretch in stretches])
        floor.out.append(
            Dispatch(
                call.id,
                worker.id,
                spec.first,
                spec.last,
                pieces,
                call.alone,
                call.condemned,
            )
        )

    def _reserve(self, call: Call) -> None:
        """Count what the call will probably give, so that others leave room for it."""
        floor, station = self.floor, call.station
        if station.out_bytes:
            call.reserve = int(station.out_bytes * call.tasks)
            floor.charge(call.last + 1, call.reserve)
        behind = floor.stations.get(call.last + 1)
        if behind is not None:
            call.expected = call.tasks * station.ratio
            behind.coming += call.expected
            if behind.crew is not floor.shared:
                floor.note(behind)

    def watch(self, call: Call) -> None:
        """A call that begins now has to end some time, where its stages have time limits."""
        if not call.station.spec.timeout_s:
            return
        settings = self.floor.settings
        limit = call.station.spec.timeout_s * call.tasks + settings.timeout_grace_s
        limit += call.station.setup_s or 0.0
        heappush(self.deadlines, (self.floor.now + limit, call.id))

    def overdue(self) -> Iterator[Call]:
        """Calls that are still at work though their time is over."""
        while self.deadlines and self.deadlines[0][0] <= self.floor.now:
            _, number = heappop(self.deadlines)
            call = self.floor.calls.get(number)
            if call is not None and call.worker.calls[0] is call and not call.paused:
                yield call

    def _set_up(self, worker: Worker, station: Station) -> None:
        """Note that the worker will set the step up first; make room for it where it must be."""
        node = worker.node
        if station.memory > node.memory:
            self._make_room(worker, station)
        worker.warm |= station.bit
        worker.setting_up |= station.bit
        worker.holds[station.spec.first] = station.memory
        node.memory -= station.memory
        station.warm += 1
        station.setting_up += 1
        self.floor.open_to_cold(station)

    def _make_room(self, worker: Worker, station: Station) -> None:
        busy = {call.station.spec.first for call in worker.calls}
        for first in [first for first in worker.holds if first not in busy]:
            if station.memory <= worker.node.memory:
                return
            other = self.floor.stations[first]
            self.tear_down(worker, other)

    def tear_down(self, worker: Worker, station: Station) -> None:
        worker.node.memory += worker.holds.pop(station.spec.first)
        worker.warm &= ~station.bit
        station.warm -= 1
        spec = station.spec
        self.floor.out.append(TearDown(worker.id, spec.first, spec.last))
