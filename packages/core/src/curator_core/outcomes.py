"""What a stage may give back besides tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from curator_core.tasks import Task

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
    """Items that could not be read or understood: damage inside a task that is otherwise good."""

    reason: str
    where: str = ""
    items: int = 1
    payload: bytes | None = None


class Mixed(list[Out]):
    """Outputs of `process_batch` that were made from all of its tasks together."""
