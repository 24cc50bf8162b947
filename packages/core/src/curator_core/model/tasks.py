"""Tasks: pieces of data that move through a pipeline, and other results of stages."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from curator_core.model.lineage import Lineage

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """One version of a named input, or of the part of it from `start` to `end`."""

    name: str
    version: str
    start: int = 0
    end: int | None = None

    def clashes(self, other: "Origin") -> bool:
        """Return whether data from both would contain duplicates or something out of date."""
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
    """A payload with metadata.

    Fields that the constructor does not accept belong to the framework; stages never set them.
    """

    item_name: ClassVar[str] = "record"
    """What reports call one item."""

    data: T
    dataset_name: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    task_id: str = field(default="", init=False, compare=False)
    lineage: Lineage = field(default_factory=dict, init=False, repr=False, compare=False)
    timings: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    staged: tuple[StagedFile, ...] = field(default=(), init=False, repr=False, compare=False)
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What a stage computed about the data, for the next stages in the same process.

    For example words or decoded pixels: costly to compute, easy to compute again. Never sent to
    another process or stored with an output of the pipeline. Not copied to other data, unless a
    stage does so explicitly.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "derived": {}}

    def __copy__(self) -> Self:
        """Copy without `__getstate__`: it takes a fifth of the time, and tasks are copied often."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.derived = {}
        return twin

    def twin(self) -> Self:
        """Return a copy that shares the data and `derived`."""
        twin = self.__copy__()
        twin.derived = self.derived
        return twin

    @property
    def num_items(self) -> int:
        """Number of records, images or clips. Tasks with 0 items are not passed on."""
        return 1

    @property
    def num_bytes(self) -> int:
        return getsizeof(self.data)

    @property
    def playing_ms(self) -> int:
        """Playing time, if it is a video or a recording."""
        return 0

    def with_data(self, data: T) -> Self:
        """Return a copy with other data."""
        changed = self.__copy__()
        changed.data = data
        changed.metadata = dict(self.metadata)
        return changed

    def take(self, rows: Sequence[int]) -> Self:
        """Return a task with the items at these positions; TypeError if it cannot be divided."""
        if self.num_items != 1 or list(rows) != [0]:
            raise TypeError(f"a {type(self).__name__} cannot be divided: it has no take()")
        return self.twin()

    def identity(self) -> str | None:
        """Return what identifies its external source (path, size, modification time), if any."""
        return None

    def origins(self) -> list[Origin]:
        """Return the parts of files, or of other named inputs, that it represents."""
        return []

    def columns(self) -> tuple[str, ...] | None:
        """Return its column names, or None if it has no columns."""
        return None

    def describe_items(self) -> list[dict[str, Any]]:
        """Return facts about each item for people: columns, sizes, lengths. Previews show them."""
        return [{} for _ in range(self.num_items)]

    def thumbnail(self, item: int) -> bytes | None:
        """Return a small JPEG, PNG or WebP of an item, or None if there is nothing to see."""
        return None

    @property
    def stored_type(self) -> type["Task[Any]"]:
        """The class whose `from_payload` reads the bytes of `to_payload`."""
        return type(self)

    def to_payload(self) -> bytes:
        """Return the data as bytes for `from_payload`. Raise TypeError if that is impossible."""
        head = {"data": self.data, "dataset_name": self.dataset_name, "metadata": self.metadata}
        return json.dumps(head).encode()

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        return cls(**json.loads(payload))


@dataclass
class Empty(Task[None]):
    """The empty input of the first stage of a pipeline."""

    data: None = None


AnyTask: TypeAlias = Task[Any]
Out = TypeVar("Out", bound=AnyTask)


@dataclass(frozen=True)
class Dropped:
    """Items that a stage drops on purpose, and the reason.

    `records` may be a function. It is called only if dropped items are kept or shown in the report.
    """

    reason: str
    items: int = 1
    records: AnyTask | Callable[[], AnyTask] | None = None


@dataclass(frozen=True)
class Rejected:
    """Items of a task that could not be processed, while the rest of the task continues.

    Set `row`, the position of the record in its task, to make it retryable: the rejected records of
    a task are quarantined as a new task. Rows refer to `of` if it is given, otherwise to the input
    task.
    """

    reason: str
    where: str = ""
    items: int = 1
    payload: bytes | None = None
    """A preview for people."""

    row: int | None = None
    of: AnyTask | None = field(default=None, repr=False, compare=False)
    damaged: bool = False
    """Whether the record itself is at fault, so that a retry is not suggested."""


class Mixed(list[Out]):
    """Outputs of `process_batch` that were made from all of its tasks together."""
