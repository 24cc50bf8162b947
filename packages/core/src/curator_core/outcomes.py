"""What a stage may give back besides tasks."""

from collections.abc import Callable
from dataclasses import dataclass, field
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
