"""Tasks in the object store, and the queue in which they wait for a stage."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curator_core.model.reports import Keys

_SEARCH_FOR_LOCAL = 16
"""How far from the front of the queue tasks are searched that are on the worker's node already."""


@dataclass(frozen=True, slots=True)
class StoredTasks:
    """Packed tasks in the object store. The driver knows only their ids, sources and size."""

    ref: Any
    ids: Sequence[str]
    keys: Sequence[Keys]
    nbytes: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class StoredRange:
    """Stored tasks from `start` to `stop`."""

    stored: StoredTasks
    start: int
    stop: int
    is_suspect: bool = False
    """A worker died while it had them, so each is run alone."""

    deaths: float = 0.0
    """How many workers a single suspect has killed."""

    is_condemned: bool = False
    """The next worker quarantines it instead of running it."""

    @classmethod
    def of(cls, stored: StoredTasks) -> "StoredRange":
        return cls(stored, 0, len(stored.ids))

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def ids(self) -> Sequence[str]:
        return self.stored.ids[self.start : self.stop]

    @property
    def keys(self) -> Iterable[Keys]:
        return self.stored.keys[self.start : self.stop]

    @property
    def nbytes(self) -> float:
        return self.stored.nbytes * len(self) / max(1, len(self.stored.ids))

    def part(self, start: int, stop: int) -> "StoredRange":
        return replace(self, start=start, stop=stop)

    def singles(self) -> Iterator["StoredRange"]:
        for position in range(self.start, self.stop):
            yield self.part(position, position + 1)


def source_keys(ranges: Iterable[StoredRange]) -> Keys:
    """Return the sources of these tasks, each once."""
    return tuple({key: None for tasks in ranges for keys in tasks.keys for key in keys})


class TaskQueue:
    """The tasks that wait for a stage, in order. Suspects come first, one at a time."""

    def __init__(self, ranges: Iterable[StoredRange]) -> None:
        self._ranges = deque(ranges)
        self._suspects: deque[StoredRange] = deque()
        self.tasks = sum(map(len, self._ranges))
        self.nbytes = sum(tasks.nbytes for tasks in self._ranges)

    def take(self, count: int, node: str = "") -> list[StoredRange]:
        """Take up to `count` tasks, preferably such that are on `node`."""
        if self._suspects:
            return self._subtract([self._suspects.popleft()])
        if node:
            self._bring_forward(node)
        taken: list[StoredRange] = []
        while self._ranges and count > 0:
            tasks = self._ranges.popleft()
            if len(tasks) > count:
                middle = tasks.start + count
                self._ranges.appendleft(tasks.part(middle, tasks.stop))
                tasks = tasks.part(tasks.start, middle)
            count -= len(tasks)
            taken.append(tasks)
        return self._subtract(taken)

    def put_back(self, ranges: Sequence[StoredRange]) -> None:
        for tasks in reversed(ranges):
            self.tasks += len(tasks)
            self.nbytes += tasks.nbytes
            queue = self._suspects if tasks.is_suspect else self._ranges
            queue.appendleft(tasks)

    def clear(self) -> None:
        self._ranges.clear()
        self._suspects.clear()
        self.tasks, self.nbytes = 0, 0.0

    def _subtract(self, ranges: list[StoredRange]) -> list[StoredRange]:
        self.tasks -= sum(map(len, ranges))
        self.nbytes -= sum(tasks.nbytes for tasks in ranges)
        return ranges

    def _bring_forward(self, node: str) -> None:
        for position in range(min(_SEARCH_FOR_LOCAL, len(self._ranges))):
            tasks = self._ranges[position]
            if tasks.stored.node == node:
                del self._ranges[position]
                self._ranges.appendleft(tasks)
                return
