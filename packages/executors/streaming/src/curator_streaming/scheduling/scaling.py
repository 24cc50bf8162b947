"""Scaling: how many workers of their own steps have, decided anew every second or so."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, log

from curator_streaming.scheduling.actions import Explain
from curator_streaming.scheduling.balancing import Claimant, fair_counts, pace
from curator_streaming.scheduling.floors import NO_LIMIT, Floor
from curator_streaming.scheduling.needs import Need
from curator_streaming.scheduling.nodes import Node, placed, without_cpus
from curator_streaming.scheduling.staffing import Staffing
from curator_streaming.scheduling.stations import Station
from curator_streaming.scheduling.workers import Worker

_LEAST_DWELL_S = 5.0
_DWELL_SETUPS = 5
_LEAST_AHEAD_S = 0.5
_REFILLS = 4


class Scaling:
    """Gives the hardware to the steps that hold up the line, where that pays for its setup."""

    def __init__(self, floor: Floor, staffing: Staffing) -> None:
        self.floor = floor
        self.staffing = staffing
        self.no_more_sources = False
        self._key: tuple[object, ...] = ()
        self._expected: dict[int, int] = {}
        """Workers to be started on what others have been asked to leave."""

        self._kept: dict[str, int] = {}
        """Nodes where workers of all kinds make place for one that would fit nowhere else."""

    def round(self) -> None:
        for station in self.floor.stations.values():
            station.measured.settle()
        self._aim()
        self.fill()
        self._move()

    # How many dedicated workers each step should have

    def _dedicated(self) -> Iterator[Station]:
        for station in self.floor.stations.values():
            if station.crew is not self.floor.shared:
                yield station

    def _aim(self) -> None:
        claimants = self._claimants()
        if not claimants or not self.floor.nodes:
            return
        key = self._described(claimants)
        if key != self._key:
            self._key = key
            empty = [node.copy() for node in self.floor.nodes.values()]
            self._leave_memory(empty)
            self._set_targets(claimants, fair_counts(empty, claimants))

    def _leave_memory(self, trial: list[Node]) -> None:
        """Shared workers must be able to set up even the largest of their steps, somewhere."""
        largest = max((s.spec.need.memory for s in self.floor.shared_stations), default=0)
        if largest:
            found = placed(trial, Need(cpus=0, memory=largest))
            if found is not None:
                found[0].take(found[1])

    def _described(self, claimants: list[Claimant]) -> tuple[object, ...]:
        """What the targets depend on, so coarse that noise does not change it."""
        steps = tuple(
            (c.first, c.most, round(20 * log(c.weight or 1e-9)), self._staying(c.first))
            for c in claimants
        )
        return (steps, tuple(self.floor.nodes))

    def _staying(self, first: int) -> int:
        return self.floor.stations[first].crew.staying

    def _set_targets(self, claimants: list[Claimant], counts: dict[int, int]) -> None:
        floor = self.floor
        current = {c.first: self._staying(c.first) for c in claimants}
        now, then = pace(current, claimants), pace(counts, claimants)
        pays = then > now * (1 + self._threshold()) or any(
            floor.stations[first].has_work and not current[first] for first in counts
        )
        for claimant in claimants:
            first = claimant.first
            station = floor.stations[first]
            target = counts[first] if pays else max(counts[first], current[first])
            if pays and target not in (station.target, current[first]):
                reason = f"{station.spec.name}: {current[first]} -> {_workers(target)}, for "
                if station.measured.per_task is None:
                    reason += "it has done nothing yet that could be measured"
                else:
                    reason += f"one source takes {claimant.weight:.3g} s of a worker's time"
                floor.out.append(Explain("scale", reason, first))
            station.target = target

    def _threshold(self) -> float:
        settings = self.floor.settings
        flexible = list(self._dedicated())
        setup = max((s.setup_s or 0.0 for s in flexible), default=0.0)
        error = max((s.measured.error for s in flexible), default=0.0)
        return settings.hysteresis + 2 * error + setup / settings.payback_s

    def _claimants(self) -> list[Claimant]:
        """Those with the best right to a first worker come first."""
        flow = dict(self._flows())
        closed = self.floor.barriers.closed
        stations = sorted((s for s in self._dedicated() if not s.bit & closed), key=self._rank)
        costs = [s.measured.per_task for s in stations if s.measured.per_task]
        usual = sum(costs) / len(costs) if costs else 1.0
        found = []
        for station in stations:
            spec = station.spec
            weight = (station.measured.per_task or usual) * flow[spec.first]
            most = self._most(station, flow)
            need = without_cpus(spec.need) if station.takes_turns else spec.need
            is_fixed = spec.num_workers is not None
            found.append(Claimant(spec.first, need, weight, most, is_fixed))
        return found

    def _flows(self) -> Iterator[tuple[int, float]]:
        """How many tasks reach each step for one source."""
        flow = 1.0
        for station in self.floor.stations.values():
            yield station.spec.first, flow
            flow *= station.ratio

    def _most(self, station: Station, flow: dict[int, float]) -> int:
        """More workers than this would have nothing to do."""
        if station.spec.num_workers is not None:
            return station.spec.num_workers if self._in_reach(station) else 0
        staying = station.crew.staying
        limit = NO_LIMIT
        if self.no_more_sources:
            limit = ceil(self._tasks_in_reach(station, flow) / station.spec.batch_size)
        if not station.spec.need.is_special:
            limit = min(limit, self._cpu_share(station, flow))
        if station.measured.per_task is not None and station.crew.idle * 10 > station.crew.up:
            limit = min(limit, max(staying, 1))
        return limit

    def _cpu_share(self, station: Station, flow: dict[int, float]) -> int:
        """The workers it takes to keep up with what all CPUs together let through."""
        floor = self.floor
        cpus = sum(node.cpus for node in floor.nodes.values())
        mine = (station.cost or 1.0) * flow[station.spec.first]
        every = sum(
            (s.cost or 1.0) * flow[first] * max(s.spec.need.cpus, 1)
            for first, s in floor.stations.items()
        )
        return ceil(cpus * mine / every) + 1 if every else 1

    def _tasks_in_reach(self, station: Station, flow: dict[int, float]) -> float:
        """How many tasks will still come here, once there are no more sources."""
        mine = flow[station.spec.first]
        return sum(
            (s.queue.tasks + s.calls * max(1, s.most_per_call // 8)) * mine / (flow[first] or 1.0)
            for first, s in self.floor.stations.items()
            if first <= station.spec.first
        )

    def _in_reach(self, station: Station) -> bool:
        reached = (1 << (station.spec.first + 1)) - 1
        return not self.no_more_sources or bool(self.floor.active & reached)

    def _rank(self, station: Station) -> tuple[int, int]:
        """Who gets the first worker, where not even one of each fits: they take turns."""
        position = -station.spec.first
        if station.queue.tasks == 0 and station.calls == 0:
            return (3, -position)
        if not station.crew.staying:
            return (1, position)
        dwell = max(_LEAST_DWELL_S, _DWELL_SETUPS * (station.setup_s or 0.0))
        oldest = min(w.since for w in station.crew.workers.values())
        is_blocked = bool(self.floor.blocked & station.bit)
        if self.floor.now - oldest > dwell or is_blocked:
            return (2, position)
        return (0, position)

    def end_turns(self) -> None:
        """In batch mode: workers of steps whose turn is not now leave their place to others."""
        for station in self._dedicated():
            if station.bit & self.floor.barriers.closed and station.crew.staying:
                station.target = 0
                for worker in list(station.crew.workers.values()):
                    self.staffing.let_go(worker, f"{station.spec.name} has had its turn")

    # Making it so

    def fill(self) -> None:
        """Start what fits of what is missing; the step that has least of its target comes first."""
        missing = [s for s in self._dedicated() if s.crew.staying < s.target]
        started: dict[Station, int] = {}
        while missing:
            station = min(missing, key=lambda s: (s.crew.staying / s.target, s.spec.first))
            if self._start(station):
                started[station] = started.get(station, 0) + 1
            else:
                missing.remove(station)
            if station in missing and station.crew.staying >= station.target:
                missing.remove(station)
        for station, count in started.items():
            reason = f"{station.spec.name}: {_workers(count)} started, for there is room and work"
            self.floor.out.append(Explain("scale", reason, station.spec.first))

    def _start(self, station: Station) -> bool:
        first, staffing = station.spec.first, self.staffing
        limit = self.floor.setup_limit(is_known=station.setup_s is not None)
        if station.failed_setups >= limit and not station.crew.up:
            return False  # those that are being set up are the last hope
        nodes = [
            node
            for node in self.floor.nodes.values()
            if self._kept.get(node.name, first) == first and not node.shuns & station.bit
        ]
        done = staffing.start_dedicated(station, nodes) is not None
        if not done and staffing.free_memory(station, nodes):
            done = staffing.start_dedicated(station, nodes) is not None
        if done:
            self._kept = {name: kept for name, kept in self._kept.items() if kept != first}
            self._expected[first] = max(0, self._expected.get(first, 0) - 1)
        return done

    def _move(self) -> None:
        """Let workers go where a step that lacks some can use their place."""
        if not any(s.crew.leaving for s in self._dedicated()):
            self._expected.clear()
            self._kept.clear()
        surplus = {s.spec.first: max(0, s.crew.staying - s.target) for s in self._dedicated()}
        for station in self._dedicated():
            first = station.spec.first
            missing = station.target - station.crew.staying - self._expected.get(first, 0)
            for _ in range(missing if any(surplus.values()) else 0):
                if not self._swap(station, surplus):
                    break
            if station.target and station.has_work and not station.crew.workers:
                self._repack(station)

    def _swap(self, station: Station, surplus: dict[int, int]) -> bool:
        donors = self._donors(station, surplus)
        first = station.spec.first
        self._expected[first] = self._expected.get(first, 0) + bool(donors)
        if donors:
            names = ", ".join(sorted({self._name(worker) for worker in donors}))
            reason = f"a place goes from {names} to {station.spec.name}, which holds up the line"
            self.floor.out.append(Explain("move", reason, first))
        for worker in donors:
            surplus[worker.crew.first or 0] -= 1
            self.staffing.let_go(worker, f"its place goes to {station.spec.name}")
        return bool(donors)

    def _name(self, worker: Worker) -> str:
        return self.floor.stations[worker.crew.first or 0].spec.name

    def _repack(self, station: Station) -> None:
        """It would fit if others stood closer together: some leave, and come back elsewhere."""
        first = station.spec.first
        if self._expected.get(first) or self._kept:
            return
        everyone = {s.spec.first: s.crew.staying for s in self._dedicated() if s is not station}
        donors = self._donors(station, everyone)
        for worker in donors:
            self._kept[worker.node.name] = first
            self.staffing.let_go(worker, f"it makes place for {station.spec.name}")

    def _donors(self, station: Station, surplus: dict[int, int]) -> list[Worker]:
        """The fewest workers on one node whose places together are enough for one of this step."""
        best: list[Worker] = []
        here: dict[str, list[Worker]] = {}
        for first, spare in surplus.items():
            for worker in self.floor.stations[first].crew.workers.values() if spare > 0 else ():
                if not worker.leaving:
                    here.setdefault(worker.node.name, []).append(worker)
        for name, workers in here.items():
            found = _enough(self.floor.nodes[name], workers, station, dict(surplus))
            if found and (not best or len(found) < len(best)):
                best = found
                if len(best) == 1:
                    break
        return best

    # What may wait

    def update(self) -> None:
        """What changes slowly: how much may wait, and who may set up what."""
        floor = self.floor
        refill_s = 0.0
        for station in floor.stations.values():
            if station.crew is floor.shared:
                floor.open_to_cold(station)
            station.most_waiting = self._worth_waiting(station, refill_s)
            floor.note(station)
            refill_s = 0.0 if station.spec.is_dedicated else refill_s
            refill_s += max(floor.settings.call_s, station.cost or 0.0) * station.crew.slots

    def _worth_waiting(self, station: Station, refill_s: float) -> int:
        """What all of its workers do while a refill is made, several times over for slow ones."""
        settings, crew = self.floor.settings, station.crew
        is_shared = crew is self.floor.shared
        if settings.has_barriers or (is_shared and not (station.spec.first and crew.up)):
            return NO_LIMIT
        staying = max(crew.staying, 1)
        least = 2 * crew.slots * staying * station.spec.batch_size
        if station.cost is None:
            return NO_LIMIT if is_shared else least
        seconds = min(settings.lookahead_s, _LEAST_AHEAD_S + _REFILLS * refill_s)
        most = seconds * staying / station.cost if station.cost else inf
        return int(min(max(least, most), NO_LIMIT))


def _enough(
    node: Node, workers: list[Worker], station: Station, spare: dict[int, int]
) -> list[Worker]:
    trial = node.copy()
    trial.memory, trial.devices = node.memory, dict(node.devices)
    trial.custom, trial.cpus_promised = dict(node.custom), node.cpus_promised
    let_go: list[Worker] = []
    need = station.spec.need
    for worker in sorted(workers, key=_by_device):
        first = worker.crew.first or 0
        if spare[first] <= 0:
            continue
        spare[first] -= 1
        let_go.append(worker)
        trial.give_back(worker.grant)
        if trial.place(need) is not None:
            return let_go
    return []


def _by_device(worker: Worker) -> tuple[str, int]:
    device = worker.grant.shares[0].device if worker.grant.shares else ""
    return (device, len(worker.calls))


def _workers(count: int, kind: str = "worker") -> str:
    return f"{count} {kind}{'s' * (count != 1)}"
