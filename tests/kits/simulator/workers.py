"""Simulated workers: they run one call after the other and fetch inputs meanwhile."""

from collections import deque
from dataclasses import dataclass, field

from curator_streaming.scheduler.actions import Dispatch
from curator_streaming.scheduler.resources import Grant

from simulator.workloads import SimulatedNode


@dataclass(eq=False)
class SimulatedCall:
    """A call on its worker; its inputs arrive at `ready_at`."""

    dispatch: Dispatch
    tasks: list[int]
    ready_at: float
    yielded: int = 0
    is_paused: bool = False
    is_blocked: bool = False
    """Whether it waits to yield because it is paused."""


@dataclass(eq=False)
class SimulatedWorker:
    """The state of a worker process."""

    number: int
    node: SimulatedNode
    first: int | None
    grant: Grant
    warm: set[int] = field(default_factory=set)
    calls: deque[SimulatedCall] = field(default_factory=deque)
    is_up: bool = False
    is_gone: bool = False
    is_leaving: bool = False
    free_since: float = 0.0
    up_at: float = 0.0
    is_working: bool = False
