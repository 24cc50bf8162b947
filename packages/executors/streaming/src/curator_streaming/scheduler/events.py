"""Events: everything that the scheduler learns. Each has its time, in seconds of one clock.

Order matters only within one call and one worker: `WorkerUp` precedes the ends of its calls, and
nothing follows a `WorkerDown`. Events of unknown calls are ignored.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from curator_streaming.scheduler.blocks import Block, BlockSlice
from curator_streaming.scheduler.resources import Capacity


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node can be used from now on. `pending`: how many more are expected in a moment."""

    at: float
    node: str
    capacity: Capacity
    pending: int = 0


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node was lost with its workers: no `WorkerDown` follows for them.

    Blocks that only this node held are reported with `BlocksWithdrawn`.
    """

    at: float
    node: str
    reason: str = "the node was lost"


@dataclass(frozen=True, slots=True)
class WorkerUp:
    """A worker started: a dedicated one is set up, a shared one is an empty process."""

    at: float
    worker: int


DownKind: TypeAlias = Literal["stopped", "died", "setup"]


@dataclass(frozen=True, slots=True)
class WorkerDown:
    """A worker ended: on request, by dying, or because the step `first` failed to set up.

    `culprit`: the call that was running; None if unknown, which means the oldest one.
    `suspects`: the tasks that were being processed, if known; otherwise all of that call.
    `innocent`: no call is to blame, for example because the node was reclaimed.
    `weight`: how much this death counts against its task; below 1 if it may have come from outside.
    """

    at: float
    worker: int
    reason: str
    kind: DownKind = "died"
    culprit: int | None = None
    suspects: tuple[BlockSlice, ...] = ()
    innocent: bool = False
    first: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class CallYielded:
    """A running call of a generator stage yielded outputs."""

    at: float
    call: int
    outputs: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class CallDone:
    """A call succeeded; `outputs` are those that no `CallYielded` reported.

    `seconds`: time at work, without setup. `waited`: how long the worker was idle before it.
    `stage_seconds`: by stage position. `fanned_out`: the first stage that returned more tasks than
    it got. `rss`: the worker's memory in bytes, 0 if unknown.
    """

    at: float
    call: int
    outputs: tuple[Block, ...] = ()
    seconds: float = 0.0
    waited: float = 0.0
    stage_seconds: Mapping[int, float] = field(default_factory=dict)
    fanned_out: int | None = None
    rss: int = 0


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call failed although its worker lives: its tasks have to run again.

    `blame`: count it as if it had killed its worker (out of GPU memory, timed out). `lost`: its
    inputs are lost, and their sources will be offered again.
    """

    at: float
    call: int
    reason: str
    blame: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class SetupMeasured:
    """A worker set up the step that begins with stage `first`, and grew by `memory` bytes."""

    at: float
    worker: int
    first: int
    seconds: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class SourcesOffered:
    """Tasks for the first step: requested with `RequestSources`, or submitted by a caller."""

    at: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class SourcesEnded:
    """There are no more sources: when all work is done, the workers are stopped."""

    at: float


@dataclass(frozen=True, slots=True)
class Delivered:
    """The consumer took this many bytes of final outputs. Until then they count as stored."""

    at: float
    size: int


@dataclass(frozen=True, slots=True)
class BlocksWithdrawn:
    """Stored blocks are lost or no longer wanted: their waiting tasks are dropped.

    Calls that already read them end by themselves.
    """

    at: float
    handles: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed. Expected about every `Settings.tick_s` seconds, and harmless more often."""

    at: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Begin no more sources, finish work under way until `until`, then stop all workers."""

    at: float
    until: float


Event: TypeAlias = (
    NodeJoined
    | NodeLost
    | WorkerUp
    | WorkerDown
    | CallYielded
    | CallDone
    | CallFailed
    | SetupMeasured
    | SourcesOffered
    | SourcesEnded
    | Delivered
    | BlocksWithdrawn
    | Tick
    | StopRequested
)
