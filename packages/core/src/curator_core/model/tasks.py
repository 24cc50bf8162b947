"""Tasks: pieces of data that move through a pipeline, and what stages return besides them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, Generic, Self, TypeAlias, TypeVar

from curator_core.model.lineage import Lineage

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """One state of a named thing, or of the part of it from `start` to `end`."""

    name: str
    version: str
    start: int = 0
    end: int | None = None

    def clashes(self, other: "Origin") -> bool:
        """Whether data made from both would hold something twice, or something out of date."""
        if self.name != other.name:
            return False
        if self.version != other.version:
            return True
        before = self.end is not None and self.end <= other.start
        behind = other.end is not None and other.end <= self.start
        return not (before or behind)


@dataclass(frozen=True)
class StagedFile:
    """A finished file under a hidden name, to be published when its sources are done."""

    staged: str
    final: str
    items: int = 0
    size: int = 0
    dropped: bool = False


@dataclass
class Task(Generic[T]):
    """A payload, and what its author wants carried along with it.

    The fields that cannot be given belong to the framework; a stage never needs to set them.
    """

    data: T
    dataset_name: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    task_id: str = field(default="", init=False, compare=False)
    lineage: Lineage = field(default_factory=dict, init=False, repr=False, compare=False)
    timings: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    staged: tuple[StagedFile, ...] = field(default=(), init=False, repr=False, compare=False)
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What a stage worked out about the data, for those that follow it in the same process.

    Words, decoded pixels: what is costly to make and easy to make again. It is never sent to
    another process nor kept with an output of the pipeline, and is not handed on to other data,
    unless a stage does so on purpose.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "derived": {}}

    def __copy__(self) -> Self:
        """What `copy` would do through `__getstate__`, in a fifth of the time: each task is copied
        again and again."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.derived = {}
        return twin

    def twin(self) -> Self:
        """A copy that shares the data, and what was derived of it."""
        twin = self.__copy__()
        twin.derived = self.derived
        return twin

    @property
    def num_items(self) -> int:
        """How many records, images or clips this is. A task of 0 items goes no further."""
        return 1

    @property
    def num_bytes(self) -> int:
        return getsizeof(self.data)

    @property
    def playing_ms(self) -> int:
        """How long it plays, where it is a film or a recording."""
        return 0

    def with_data(self, data: T) -> Self:
        """The same task around other data."""
        changed = self.__copy__()
        changed.data = data
        changed.metadata = dict(self.metadata)
        return changed

    def take(self, rows: Sequence[int]) -> Self:
        """A task of some of its items, by their places; TypeError where it cannot be divided."""
        if self.num_items != 1 or list(rows) != [0]:
            raise TypeError(f"a {type(self).__name__} cannot be divided: it has no take()")
        return self.twin()

    def identity(self) -> str | None:
        """What this stands for in the outside world (a path, its size and age), if anything."""
        return None

    def origins(self) -> list[Origin]:
        """The parts of files, or of other named things, that it stands for."""
        return []

    def columns(self) -> tuple[str, ...] | None:
        """The names of its columns, for tasks that have columns."""
        return None

    @property
    def stored_type(self) -> type["Task[Any]"]:
        """The class whose `from_payload` reads what `to_payload` gives."""
        return type(self)

    def to_payload(self) -> bytes:
        """The data as bytes that `from_payload` reads back; TypeError where that cannot be."""
        head = {"data": self.data, "dataset_name": self.dataset_name, "metadata": self.metadata}
        return json.dumps(head).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        return cls(**json.loads(payload))


@dataclass
class Empty(Task[None]):
    """Carries nothing: what the first stage of a pipeline is given."""

    data: None = None


AnyTask: TypeAlias = Task[Any]
Out = TypeVar("Out", bound=AnyTask)


@dataclass(frozen=True)
class Dropped:
    """Items that a stage leaves out on purpose, and why.

    `records` is asked for only when dropped items are kept, or shown in the report, so a function
    that builds them costs nothing otherwise.
    """

    reason: str
    items: int = 1
    records: AnyTask | Callable[[], AnyTask] | None = None


@dataclass(frozen=True)
class Rejected:
    """Items inside a task that could not be worked on, while the rest of the task goes on.

    A stage that says in which `row` of its task the record is needs to do nothing else for a retry:
    the quarantine keeps the rejected records of a task as a task of their own. Rows are those of
    `of`, where that is another task than the one the stage was given.
    """

    reason: str
    where: str = ""
    items: int = 1
    payload: bytes | None = None
    """Something to look at, for people."""

    row: int | None = None
    of: AnyTask | None = field(default=None, repr=False, compare=False)
    damaged: bool = False
    """Whether the record itself is at fault, so that nobody is advised to try it again."""


class Mixed(list[Out]):
    """Outputs of `process_batch` that were made from all of its tasks together."""
