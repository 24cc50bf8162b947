"""Simulated workers: one call after the other, inputs fetched meanwhile."""

from collections import deque
from dataclasses import dataclass, field

from curator_streaming.scheduling.actions import Dispatch
from curator_streaming.scheduling.needs import Grant
from curator_streaming.simulating.workloads import SimulatedNode


@dataclass(eq=False)
class SimulatedCall:
    """A call that has reached its worker; `ready_at` is when its inputs have."""

    dispatch: Dispatch
    tasks: list[int]
    ready_at: float


@dataclass(eq=False)
class SimulatedWorker:
    """What a worker process would know."""

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
