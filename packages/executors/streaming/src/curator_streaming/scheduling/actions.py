"""Actions: everything the scheduler asks its driver to do, in this order.

What is asked of a worker that has died in the meantime is void: the `WorkerDown` that is on its
way puts everything right.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from curator_streaming.scheduling.needs import Grant
from curator_streaming.scheduling.parcels import Piece


@dataclass(frozen=True, slots=True)
class StartWorker:
    """Start a worker on `node`: shared (`first` is None), or for the step beginning with `first`.

    A dedicated worker sets its stages up at once; a shared one whenever a call wants them.
    """

    worker: int
    node: str
    first: int | None
    grant: Grant


@dataclass(frozen=True, slots=True)
class StopWorker:
    """Let a worker tear down and end; `at_once` kills it. `WorkerDown` is awaited either way."""

    worker: int
    reason: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Run the stages `first` to `last` (positions, inclusive) over these pieces, in this order.

    A worker runs its calls in the order in which it gets them; it sets up first what it must.
    `alone`: one task under suspicion, that the worker is to account for one by one. `condemned`:
    it killed workers too often and is to be set aside, not run.
    """

    call: int
    worker: int
    first: int
    last: int
    pieces: tuple[Piece, ...]
    alone: bool = False
    condemned: bool = False


@dataclass(frozen=True, slots=True)
class TearDown:
    """Make room in a shared worker: tear down the stages `first` to `last`, before later calls."""

    worker: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Take no more outputs of this call for now: what waits behind it is over its budget."""

    call: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Take outputs of this call again."""

    call: int


@dataclass(frozen=True, slots=True)
class Release:
    """Nobody needs this parcel any more: its handle can be dropped."""

    handle: Hashable


@dataclass(frozen=True, slots=True)
class AskForSources:
    """Up to `tasks` more sources are welcome. Asked again only when those came, or ended."""

    tasks: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Even setting this task aside killed a worker: count it as failed, and forget it."""

    piece: Piece
    first: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The run cannot go on. Everything finished is kept; the workers are being stopped."""

    reason: str
    first: int | None = None


Decision: TypeAlias = Literal[
    "scale", "move", "recycle", "wait", "split", "suspect", "node", "large"
]


@dataclass(frozen=True, slots=True)
class Explain:
    """A decision and its reason, for the events of the run."""

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
    | AskForSources
    | GiveUp
    | Fail
    | Explain
)
