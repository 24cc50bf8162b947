"""Messages between a run and the process that drives it on the cluster."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import cloudpickle
from curator_core import AnyTask, Plan
from curator_core.model.reports import Keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


Drive: TypeAlias = Callable[[Plan, "RemoteRun"], Iterator[AnyTask]]
"""What an executor does with a plan once it is connected."""


@dataclass(frozen=True)
class DriverJob:
    """What a deputy is sent out with."""

    drive: Drive
    plan: Plan
    run_token: str
    first_stage: int
    """The first stage that workers run."""


@dataclass(frozen=True)
class RunMessage:
    """From the run: sources for its deputy, answers, and whether it is to come to an end."""

    stops: tuple[str, int] | None = None
    """Why, and the number of the signal."""

    breaks_off: bool = False
    sources: bytes = b""
    """A `dumps` list of tasks, each with what is known of it."""

    has_all: bool = False
    """No more sources will come."""

    answers: Sequence[Any] = ()


@dataclass(frozen=True)
class DriverMessage:
    """From the deputy: one thing that the run is told, or asked. They are in order."""

    kind: str
    told: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """Tasks that a call was about, known by nothing but their sources."""

    lineage: Keys


def dumps(letter: Any) -> bytes:
    """Not left to Ray, which has a cloudpickle of its own: classes would come back as others."""
    sealed: bytes = cloudpickle.dumps(letter, protocol=5)
    return sealed


def loads(letter: bytes) -> Any:
    return cloudpickle.loads(letter)
