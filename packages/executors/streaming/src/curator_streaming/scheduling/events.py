"""Events: everything the scheduler is told. Each says when it happened, in seconds of one clock.

Order matters only within one call and one worker: `WorkerUp` comes before its calls' ends, and
nothing comes for a worker after its `WorkerDown`. Late news of unknown calls is ignored.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from curator_streaming.scheduling.needs import Capacity
from curator_streaming.scheduling.parcels import Parcel, Piece


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node can be used from now on."""

    at: float
    node: str
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node is gone, and its workers with it: no `WorkerDown` follows for them.

    Parcels that were only there are told with `Withdrawn`; the scheduler assumes nothing.
    """

    at: float
    node: str
    reason: str = "the node is gone"


@dataclass(frozen=True, slots=True)
class WorkerUp:
    """A worker started: a dedicated one has been set up, a shared one is an empty process."""

    at: float
    worker: int


DownKind: TypeAlias = Literal["stopped", "died", "setup"]


@dataclass(frozen=True, slots=True)
class WorkerDown:
    """A worker ended: it was asked to, it died, or a stage of `first`'s step did not set up.

    `culprit` names the call that was at work; None where that is not known: the oldest then.
    `suspects`: the tasks that were in hand, where that is known; all of the call's otherwise.
    `innocent` says that no call is to blame (the node was reclaimed, say). `weight`: what it counts
    against the task in hand, less than 1 where it may be the work of somebody else.
    """

    at: float
    worker: int
    reason: str
    kind: DownKind = "died"
    culprit: int | None = None
    suspects: tuple[Piece, ...] = ()
    innocent: bool = False
    first: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CallGave:
    """Outputs of a call that is still under way: a generator stage streams what it makes."""

    at: float
    call: int
    outputs: tuple[Parcel, ...]


@dataclass(frozen=True, slots=True)
class CallDone:
    """A call ended well; `outputs` are those that no `CallGave` told of.

    `seconds`: time at work, without set up. `waited`: how long the worker had nothing to do
    before it. `stage_seconds` by stage position. `fanned_out`: the first stage that gave more
    tasks than it took. `rss`: the worker's memory in bytes, 0 where unknown.
    """

    at: float
    call: int
    outputs: tuple[Parcel, ...] = ()
    seconds: float = 0.0
    waited: float = 0.0
    stage_seconds: Mapping[int, float] = field(default_factory=dict)
    fanned_out: int | None = None
    rss: int = 0


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call ended without result though its worker lives: its tasks are to be run again.

    `blame` counts it as if it had killed its worker (out of GPU memory, broken off as hung). With
    `lost` the tasks themselves are gone: what they were made of is offered anew.
    """

    at: float
    call: int
    reason: str
    blame: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class SetUpMeasured:
    """A worker has set up the stages of the step that begins with stage `first`.

    `memory`: by how many bytes the worker grew.
    """

    at: float
    worker: int
    first: int
    seconds: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class SourcesOffered:
    """Tasks for the first step; asked for with `AskForSources`, or pushed in by a caller."""

    at: float
    parcels: tuple[Parcel, ...]


@dataclass(frozen=True, slots=True)
class SourcesEnded:
    """There are no more sources: when all is through, the workers are stopped."""

    at: float


@dataclass(frozen=True, slots=True)
class Delivered:
    """The consumer took so many bytes of final outputs. Until then they count as stored."""

    at: float
    size: int


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Stored parcels are lost, or no longer wanted: what waits of them is forgotten.

    Calls that already hold pieces of them end by themselves, one way or another.
    """

    at: float
    handles: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes. Wanted about every `Settings.tick_s` seconds, and harmless more often."""

    at: float


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Begin no more sources, push what is under way through until `until`, then stop all."""

    at: float
    until: float


Event: TypeAlias = (
    NodeJoined
    | NodeLost
    | WorkerUp
    | WorkerDown
    | CallGave
    | CallDone
    | CallFailed
    | SetUpMeasured
    | SourcesOffered
    | SourcesEnded
    | Delivered
    | Withdrawn
    | Tick
    | StopAsked
)
