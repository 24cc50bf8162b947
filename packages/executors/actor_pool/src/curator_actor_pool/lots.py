"""Lots: tasks that wait in the object store, and the line in which they do."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curator_core.model.reports import Keys


@dataclass(frozen=True, slots=True)
class Stored:
    """A parcel as the driver knows it: the data itself stays where it is."""

    ref: Any
    ids: Sequence[str]
    keys: Sequence[Keys]
    nbytes: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class Lot:
    """Tasks of one parcel, from `start` to `stop`."""

    parcel: Stored
    start: int
    stop: int
    is_suspect: bool = False
    """A worker died over it: each of its tasks is run alone."""

    deaths: float = 0.0
    """How many workers died over it, when it was but one task."""

    is_condemned: bool = False
    """Its next worker is told not to run it."""

    @classmethod
    def of(cls, parcel: Stored) -> "Lot":
        return cls(parcel, 0, len(parcel.ids))

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def ids(self) -> Sequence[str]:
        return self.parcel.ids[self.start : self.stop]

    @property
    def keys(self) -> Iterable[Keys]:
        return self.parcel.keys[self.start : self.stop]

    @property
    def nbytes(self) -> float:
        return self.parcel.nbytes * len(self) / max(1, len(self.parcel.ids))

    def part(self, start: int, stop: int) -> "Lot":
        return replace(self, start=start, stop=stop)

    def one_by_one(self) -> Iterator["Lot"]:
        for position in range(self.start, self.stop):
            yield self.part(position, position + 1)


def keys_of(lots: Iterable[Lot]) -> Keys:
    """The sources that these tasks are made of, each once."""
    return tuple({key: None for lot in lots for keys in lot.keys for key in keys})


class Line:
    """What waits for a stage, in its old order. Suspects come first, each alone."""

    def __init__(self, lots: Iterable[Lot]) -> None:
        self._lots = deque(lots)
        self._suspects: deque[Lot] = deque()
        self.tasks = sum(map(len, self._lots))
        self.nbytes = sum(lot.nbytes for lot in self._lots)

    def take(self, count: int, node: str = "") -> list[Lot]:
        """So many tasks; those of parcels that lie on `node`, where one is near the front."""
        if self._suspects:
            return self._taken([self._suspects.popleft()])
        if node:
            self._bring_forward(node)
        taken: list[Lot] = []
        while self._lots and count > 0:
            lot = self._lots.popleft()
            if len(lot) > count:
                at = lot.start + count
                self._lots.appendleft(lot.part(at, lot.stop))
                lot = lot.part(lot.start, at)
            count -= len(lot)
            taken.append(lot)
        return self._taken(taken)

    def put_back(self, lots: Sequence[Lot]) -> None:
        for lot in reversed(lots):
            self.tasks += len(lot)
            self.nbytes += lot.nbytes
            if lot.is_suspect:
                self._suspects.appendleft(lot)
            else:
                self._lots.appendleft(lot)

    def clear(self) -> None:
        self._lots.clear()
        self._suspects.clear()
        self.tasks, self.nbytes = 0, 0.0

    def _taken(self, lots: list[Lot]) -> list[Lot]:
        self.tasks -= sum(map(len, lots))
        self.nbytes -= sum(lot.nbytes for lot in lots)
        return lots

    def _bring_forward(self, node: str) -> None:
        for position in range(min(_NEAR, len(self._lots))):
            if self._lots[position].parcel.node == node:
                lot = self._lots[position]
                del self._lots[position]
                self._lots.appendleft(lot)
                return


_NEAR = 16
"""How far from the front a lot is looked for that needs not be fetched from another node."""
