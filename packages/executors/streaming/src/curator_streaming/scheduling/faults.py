"""Faults: what becomes of work whose worker is gone. None of it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curator_streaming.scheduling.actions import Explain, GiveUp
from curator_streaming.scheduling.floors import Floor
from curator_streaming.scheduling.parcels import Piece
from curator_streaming.scheduling.queues import Stretch
from curator_streaming.scheduling.workers import Call


class Faults:
    """Puts the work of broken calls back into its queue."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor

    def requeue(self, calls: Iterable[Call]) -> None:
        """These calls did no harm: their work comes first again, in its old order."""
        for call in reversed(list(calls)):
            self.strike(call)
            for stretch in reversed(call.stretches):
                self._put_back(call, stretch)
            self.floor.note(call.station)

    def drop(self, call: Call) -> None:
        """What this call was to work on is gone, whatever else its parcels hold."""
        self.strike(call)
        self.floor.use_up(call.stretches)
        self.floor.note(call.station)

    def blame(
        self, call: Call, reason: str, suspects: Sequence[Piece] = (), weight: float = 1.0
    ) -> None:
        """This call was at work when its worker died: each of its tasks is run alone now."""
        self.strike(call)
        if call.condemned:
            self._give_up(call, reason)
        else:
            for stretch in call.stretches:
                for part, is_suspect in _parted(stretch, suspects):
                    if is_suspect or call.alone:
                        self._suspect(call, part, weight)
                    else:
                        self._put_back(call, part)
            tasks = "one task alone" if call.tasks == 1 else f"{call.tasks} tasks"
            text = f"{call.station.spec.name}: {reason}, with {tasks} at work"
            self.floor.out.append(Explain("suspect", text, call.station.spec.first))
        self.floor.note(call.station)

    def strike(self, call: Call) -> None:
        """Take a call off the floor, and with it what it was expected to give."""
        floor, station = self.floor, call.station
        del floor.calls[call.id]
        floor.paused.pop(call.id, None)
        station.calls -= 1
        if call.reserve:
            floor.charge(call.last + 1, -call.reserve)
            call.reserve = 0
        behind = floor.stations.get(call.last + 1)
        if behind is not None and call.expected:
            behind.coming -= call.expected
            if behind.crew is not floor.shared:
                floor.note(behind)

    def _suspect(self, call: Call, stretch: Stretch, weight: float) -> None:
        if stretch.stored.withdrawn:
            self.floor.use_up([stretch])
            return
        stretch.deaths += weight if call.tasks == 1 else 0.0
        stretch.suspect = True
        call.station.queue.suspect(stretch)

    def _put_back(self, call: Call, stretch: Stretch) -> None:
        if stretch.stored.withdrawn:
            self.floor.use_up([stretch])
        elif stretch.suspect:
            call.station.queue.suspect(stretch)
        else:
            call.station.queue.push_back(stretch)

    def _give_up(self, call: Call, reason: str) -> None:
        for stretch in call.stretches:
            self.floor.out.append(GiveUp(stretch.piece, call.station.spec.first, reason))
        self.floor.use_up(call.stretches)


def _parted(stretch: Stretch, suspects: Sequence[Piece]) -> Iterable[tuple[Stretch, bool]]:
    """The stretch in parts: those under suspicion, and those that the worker was not yet at."""
    mine = sorted(
        (max(p.start, stretch.start), min(p.stop, stretch.stop))
        for p in suspects
        if p.handle == stretch.stored.handle
    )
    if not suspects:
        yield stretch, True
        return
    at = stretch.start
    for start, stop in mine:
        if start >= stop:
            continue
        if at < start:
            yield Stretch(stretch.stored, at, start), False
        yield Stretch(stretch.stored, max(at, start), stop), True
        at = max(at, stop)
    if at < stretch.stop:
        yield Stretch(stretch.stored, at, stretch.stop), False
