"""Queues: what waits in front of a step, by the node that holds it."""

from collections import deque
from collections.abc import Hashable, Iterator

from curator_streaming.scheduling.parcels import Parcel, Piece


class Stored:
    """A parcel that is kept until the last task in it has been used."""

    __slots__ = ("boundary", "handle", "left", "node", "per_task", "size", "withdrawn")

    def __init__(self, parcel: Parcel, boundary: int) -> None:
        self.handle: Hashable = parcel.handle
        self.size = parcel.size
        self.left = parcel.tasks
        self.per_task = parcel.size / parcel.tasks
        self.node = parcel.node
        self.boundary = boundary
        self.withdrawn = False


class Stretch:
    """Some tasks in a row of a stored parcel, and how many workers they killed when alone."""

    __slots__ = ("deaths", "start", "stop", "stored", "suspect")

    def __init__(self, stored: Stored, start: int, stop: int) -> None:
        self.stored = stored
        self.start = start
        self.stop = stop
        self.deaths = 0.0
        self.suspect = False

    @property
    def piece(self) -> Piece:
        return Piece(self.stored.handle, self.start, self.stop)


class StepQueue:
    """First come, first served on each node; suspects wait apart, to be run alone."""

    __slots__ = ("_by_node", "suspects", "tasks")

    def __init__(self) -> None:
        self._by_node: dict[str, deque[Stretch]] = {}
        self.suspects: deque[Stretch] = deque()
        self.tasks = 0

    def push(self, stretch: Stretch) -> None:
        node = stretch.stored.node
        waiting = self._by_node.get(node)
        if waiting is None:
            waiting = self._by_node[node] = deque()
        waiting.append(stretch)
        self.tasks += stretch.stop - stretch.start

    def push_back(self, stretch: Stretch) -> None:
        """What was dispatched before comes first again."""
        self._by_node.setdefault(stretch.stored.node, deque()).appendleft(stretch)
        self.tasks += stretch.stop - stretch.start

    def suspect(self, stretch: Stretch) -> None:
        """From now on each of these tasks runs alone."""
        for start in range(stretch.start, stretch.stop):
            single = Stretch(stretch.stored, start, start + 1)
            single.deaths, single.suspect = stretch.deaths, True
            self.suspects.append(single)
        self.tasks += stretch.stop - stretch.start

    def take_suspect(self) -> Stretch:
        self.tasks -= 1
        return self.suspects.popleft()

    def take(self, node: str, wanted: int, most_bytes: int) -> list[Stretch]:
        """Up to `wanted` tasks, those on `node` first; more than one only within the bytes."""
        taken: list[Stretch] = []
        by_node = self._by_node
        while wanted > 0 and by_node:
            place = node if node in by_node else next(iter(by_node))
            waiting = by_node[place]
            stretch = waiting[0]
            count = stretch.stop - stretch.start
            per_task = stretch.stored.per_task
            most = min(count, wanted)
            if most * per_task > most_bytes:
                most = int(most_bytes / per_task)
                if most == 0 and taken:
                    break
                most = most or 1
            if most == count:
                waiting.popleft()
                if not waiting:
                    del by_node[place]
                taken.append(stretch)
            else:
                taken.append(Stretch(stretch.stored, stretch.start, stretch.start + most))
                stretch.start += most
            wanted -= most
            most_bytes -= int(most * per_task)
            self.tasks -= most
            if len(taken) >= _MOST_PIECES:
                break
        return taken

    def forget(self, handles: frozenset[Hashable]) -> list[Stretch]:
        """Take out everything that belongs to these parcels."""
        gone = [s for s in self._all() if s.stored.handle in handles]
        for node, waiting in list(self._by_node.items()):
            kept = deque(s for s in waiting if s.stored.handle not in handles)
            if kept:
                self._by_node[node] = kept
            else:
                del self._by_node[node]
        self.suspects = deque(s for s in self.suspects if s.stored.handle not in handles)
        self.tasks -= sum(s.stop - s.start for s in gone)
        return gone

    def _all(self) -> Iterator[Stretch]:
        for waiting in self._by_node.values():
            yield from waiting
        yield from self.suspects


_MOST_PIECES = 64
"""A call takes no more arguments than this."""
