"""Actions: what the scheduler asks its driver to do, in this order.

An action for a worker that has died in the meantime has no effect: the `WorkerDown` that follows
puts things right.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from curator_streaming.scheduler.blocks import BlockSlice
from curator_streaming.scheduler.resources import Grant


@dataclass(frozen=True, slots=True)
class StartWorker:
    """Start a worker on `node`: shared if `first` is None, else for the step that begins there.

    A dedicated worker sets its stages up at once, a shared one when a call needs them.
    """

    worker: int
    node: str
    first: int | None
    grant: Grant


@dataclass(frozen=True, slots=True)
class StopWorker:
    """Let a worker tear down and exit; `at_once` kills it. `WorkerDown` is expected either way."""

    worker: int
    reason: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run the stages `first` to `last` (positions, inclusive) over these inputs, in this order.

    A worker runs its calls in the order of their actions, and sets up missing stages first.
    `isolated`: a single task that may have killed a worker. `quarantine`: it killed too many, so
    quarantine it instead of running it.
    """

    call: int
    worker: int
    first: int
    last: int
    inputs: tuple[BlockSlice, ...]
    isolated: bool = False
    quarantine: bool = False


@dataclass(frozen=True, slots=True)
class TearDown:
    """Tear down the stages `first` to `last` in a shared worker, before later calls."""

    worker: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Take no more outputs of this call for now: too many bytes wait behind it."""

    call: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Take outputs of this call again."""

    call: int


@dataclass(frozen=True, slots=True)
class Release:
    """Drop the handle of this block: its tasks were all processed."""

    handle: Hashable


@dataclass(frozen=True, slots=True)
class RequestSources:
    """Offer up to `tasks` more sources. Repeated only after these arrived or the sources ended."""

    tasks: int


@dataclass(frozen=True, slots=True)
class ReleaseNode:
    """Give back what the run has reserved on an idle node, so that an autoscaler can remove it."""

    node: str


@dataclass(frozen=True, slots=True)
class RequestNode:
    """Reserve a released node again; `NodeJoined` or `NodeLost` follows."""

    node: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Fail this task: even quarantining it killed a worker."""

    task: BlockSlice
    first: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail the run. Finished work is kept; the workers are being stopped."""

    reason: str
    first: int | None = None


Decision: TypeAlias = Literal[
    "scale", "move", "recycle", "wait", "split", "suspect", "node", "large", "leak"
]


@dataclass(frozen=True, slots=True)
class Explain:
    """Record a decision and its reason in the events of the run."""

    decision: Decision
    reason: str
    first: int | None = None


Action: TypeAlias = (
    StartWorker
    | StopWorker
    | Dispatch
    | TearDown
    | Pause
    | Resume
    | Release
    | RequestSources
    | ReleaseNode
    | RequestNode
    | GiveUp
    | Fail
    | Explain
)
