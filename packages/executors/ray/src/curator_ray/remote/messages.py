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
    """What a remote driver gets when it starts."""

    drive: Drive
    plan: Plan
    run_token: str
    first_stage: int
    """The first stage that workers run."""


@dataclass(frozen=True)
class RunMessage:
    """From the run to its driver: sources, answers to its questions, requests to stop."""

    stop: tuple[str, int] | None = None
    """The reason, and the number of the signal."""

    abort: bool = False
    sources: bytes = b""
    """A pickled list of tasks, each with the crashes that an earlier run recorded for it."""

    has_all: bool = False
    """No more sources will come."""

    answers: Sequence[Any] = ()


@dataclass(frozen=True)
class DriverMessage:
    """From the driver to the run: a call of one of its methods. Order matters."""

    kind: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """Stands for the tasks of a call, of which only the sources are known here."""

    lineage: Keys


def dumps(message: Any) -> bytes:
    """Pickle here, because Ray's own cloudpickle would return other classes than it was given."""
    pickled: bytes = cloudpickle.dumps(message, protocol=5)
    return pickled


def loads(pickled: bytes) -> Any:
    return cloudpickle.loads(pickled)
