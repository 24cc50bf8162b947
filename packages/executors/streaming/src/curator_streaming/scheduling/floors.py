"""The floor: everything there is at this moment, and the bytes that it holds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from curator_streaming.scheduling.actions import Action, Release
from curator_streaming.scheduling.barriers import Barriers
from curator_streaming.scheduling.needs import UNIT
from curator_streaming.scheduling.nodes import Node
from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.queues import Stored, Stretch
from curator_streaming.scheduling.settings import Settings
from curator_streaming.scheduling.stations import CHEAP_SETUP_S, Station
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.scheduling.workers import Call, Crew, Worker

NO_LIMIT = 1 << 60
_BOUNDARY_SHARE = 0.6
"""What may wait at one boundary, of all that may wait."""

_PATIENCE = 5


class Floor:
    """Stations, workers, calls and stored bytes. Sets of steps are bits of an integer.

    Room for outputs ends earlier the nearer a step is to the sources, so that what is under way
    can always be finished.
    """

    def __init__(self, steps: Sequence[StepSpec], settings: Settings) -> None:
        self.settings = settings
        self.now = 0.0
        self.out: list[Action] = []
        self.length = steps[-1].last + 1
        self.shared = Crew(None, settings.slots_per_worker)
        self.stations: dict[int, Station] = {}
        self.nodes: dict[str, Node] = {}
        self.workers: dict[int, Worker] = {}
        self.calls: dict[int, Call] = {}
        self.paused: dict[int, Call] = {}
        self.stored: dict[Hashable, Stored] = {}
        self.used = 0
        self.peak = 0
        self.boundaries = [0] * (self.length + 1)
        self.ready = self.active = self.blocked = self.urgent = 0
        self.cheap = self.cold = 0
        self.last_done = 0.0
        self.barriers = Barriers(settings.has_barriers)
        self.limits, self.boundary_limits = _room(settings, self.length)
        for spec in steps:
            self.add(spec)

    def add(self, spec: StepSpec) -> Station:
        crew = (
            Crew(spec.first, self.settings.slots_per_worker) if spec.is_dedicated else self.shared
        )
        station = self.stations[spec.first] = Station(spec, crew)
        if not spec.is_dedicated:
            self.cold |= station.bit
        self.stations = dict(sorted(self.stations.items()))
        return station

    @property
    def first(self) -> Station:
        return self.stations[0]

    @property
    def shared_stations(self) -> list[Station]:
        """Those whose steps any shared worker takes."""
        return [s for s in self.stations.values() if s.crew is self.shared]

    @property
    def slots(self) -> int:
        """So many shared workers there may be: more than cores, where steps mostly wait."""
        return sum(node.slots for node in self.nodes.values() if node.fits)

    @property
    def cores(self) -> int:
        return sum(node.cpus for node in self.nodes.values()) // UNIT

    def setup_limit(self, *, is_known: bool) -> int:
        """After how many failures in a row it is hopeless; what came up before deserves patience,
        for workers may be killed from outside while they start."""
        return self.settings.setup_attempts * (_PATIENCE if is_known else 1)

    def after(self, last: int) -> Station | None:
        return self.stations.get(last + 1)

    # Bytes

    def store(self, parcel: Parcel, boundary: int) -> Stored:
        stored = Stored(parcel, boundary)
        self.stored[parcel.handle] = stored
        self.charge(boundary, parcel.size)
        return stored

    def charge(self, boundary: int, size: int) -> None:
        self.used += size
        self.boundaries[boundary] += size
        if self.used > self.peak:
            self.peak = self.used

    def use_up(self, stretches: Sequence[Stretch]) -> None:
        """These tasks are needed no more; a parcel goes when its last task does."""
        for stretch in stretches:
            stored = stretch.stored
            stored.left -= stretch.stop - stretch.start
            if stored.left == 0:
                self.charge(stored.boundary, -stored.size)
                del self.stored[stored.handle]
                self.out.append(Release(stored.handle))

    def room_for(self, station: Station) -> int:
        """How many tasks this step may begin now, for all that will come out of them."""
        last = station.spec.last
        space = self.limits[last] - self.used
        here = self.boundary_limits[last + 1] - self.boundaries[last + 1]
        if here < space:
            space = here
        size = station.out_bytes
        if space <= 0:
            tasks = 0
        elif size is None:
            few = min(4 + len(self.nodes), max(station.crew.up, 1))
            tasks = station.spec.batch_size if station.calls < few else 0
        else:
            tasks = int(space / size) if size * NO_LIMIT > space else NO_LIMIT
        if tasks and last + 1 < self.length:
            tasks = min(tasks, self._wanted_behind(station, self.stations[last + 1]))
        if tasks:
            return tasks
        if self.must_go_on(station):
            return 1
        self.blocked |= station.bit
        return 0

    def _wanted_behind(self, station: Station, behind: Station) -> int:
        wanted = behind.most_waiting - behind.queue.tasks - behind.coming
        return 0 if wanted <= 0 else max(1, int(wanted / max(station.ratio, 1e-9)))

    def must_go_on(self, station: Station) -> bool:
        """With nothing under way behind it, one call is let through, or all would stand still."""
        return (
            station.calls == 0
            and self.boundaries[self.length] == 0
            and self.active >> (station.spec.last + 1) == 0
        )

    # What waits

    def push(self, station: Station, stretch: Stretch) -> None:
        if not station.queue.tasks:
            station.waiting_since = self.now
        station.queue.push(stretch)
        self.note(station)

    def note(self, station: Station) -> None:
        """Bring the bits up to date after something came to or left a station."""
        waiting = station.queue.tasks
        bit = station.bit
        if waiting == 0:
            self.ready &= ~bit
            station.flush = False
        elif bit & self.barriers.closed:
            self.ready &= ~bit
        elif waiting >= station.spec.batch_size or station.flush or station.queue.suspects:
            self.ready |= bit
        else:
            self.ready &= ~bit
        if waiting or station.calls:
            self.active |= bit
        else:
            self.active &= ~bit
        if station.crew is not self.shared:
            self._note_hunger(station)

    def _note_hunger(self, station: Station) -> None:
        """Shared steps that feed a dedicated one are urgent while too little waits for it."""
        if station.queue.tasks + station.coming < 0.5 * min(station.most_waiting, NO_LIMIT):
            self.urgent |= self.feeders(station)
        else:
            self.urgent &= ~self.feeders(station)

    def feeders(self, station: Station) -> int:
        bits = 0
        for other in reversed(self.stations.values()):
            if other.spec.first >= station.spec.first:
                continue
            if other.crew is not self.shared:
                break
            bits |= other.bit
        return bits

    def open_to_cold(self, station: Station) -> None:
        """Whether workers may set this shared step up: always where nobody has, or it is cheap.

        Until it is known what that takes, only a few try.
        """
        bit, takes = station.bit, station.setup_s
        self.cheap &= ~bit
        self.cold &= ~bit
        if takes is None:
            if station.setting_up < 2 * len(self.nodes):
                self.cold |= bit
        elif takes < CHEAP_SETUP_S and not station.memory:
            self.cheap |= bit
        elif station.warm * takes <= station.queue.tasks * (station.cost or 0.0):
            self.cold |= bit

    def open_barriers(self, has_ended: bool) -> Station | None:
        """The step whose turn has just come, with all before it done."""
        if not self.barriers.move(self.active, has_ended):
            return None
        for station in self.stations.values():
            self.note(station)
        return self.stations.get(self.barriers.first)

    @property
    def is_empty(self) -> bool:
        return not self.active and not self.calls


def _room(settings: Settings, length: int) -> tuple[list[float], list[float]]:
    """Bytes that may be in use when a step begins something, and that may wait at each boundary."""
    total = float(settings.max_queued_bytes)
    share = _BOUNDARY_SHARE if length > 1 else 1.0
    if settings.has_barriers:
        unbounded = [float(NO_LIMIT)] * length
        return unbounded, [*unbounded, total * share]
    limits = [total * (0.5 + 0.5 * (i + 1) / length) for i in range(length)]
    return limits, [total * share] * (length + 1)
