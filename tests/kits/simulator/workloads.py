"""Simulated steps and nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from curator_streaming.scheduler.resources import GB, UNIT, Capacity, Device, Need
from curator_streaming.scheduler.steps import StepSpec

_SAMPLES = 4096
_SPREAD = 2654435761


def heavy_tailed(sigma: float, seed: int = 1) -> list[float]:
    """Return factors with mean 1: most are below it, a few many times above it."""
    random = Random(seed)
    drawn = [random.lognormvariate(0.0, sigma) for _ in range(_SAMPLES)]
    mean = sum(drawn) / _SAMPLES
    return [value / mean for value in drawn]


EVEN = (1.0,)
_ONE_CPU = Need()


def steady(seconds: float) -> Callable[[float], float]:
    return lambda _: seconds


@dataclass(frozen=True)
class SimulatedStep:
    """One step: seconds per task (may change with time), its outputs, and how it fails."""

    name: str
    seconds: Callable[[float], float]
    need: Need = _ONE_CPU
    is_dedicated: bool = False
    num_workers: int | None = None
    workers_per_node: int | None = None
    max_workers_per_node: int | None = None
    factors: Sequence[float] = field(default=EVEN, repr=False)
    fan_out: int = 1
    output_bytes: int = 1000
    setup_s: float = 0.0
    batch_size: int = 1
    yields: bool = False
    """A generator: `seconds` passes before each of its outputs, which it yields one by one."""

    poison: frozenset[int] = frozenset()
    """Tasks that kill their worker."""

    def duration(self, task: int, now: float) -> float:
        factors = self.factors
        if len(factors) == 1:
            return self.seconds(now)
        return self.seconds(now) * factors[(task * _SPREAD >> 7) % len(factors)]

    @property
    def _is_counted(self) -> bool:
        return any((self.num_workers, self.workers_per_node, self.max_workers_per_node))

    def spec(self, position: int) -> StepSpec:
        return StepSpec(
            position,
            position,
            (self.name,),
            self.need,
            self.is_dedicated or self.need.is_special or self._is_counted,
            self.num_workers,
            self.workers_per_node,
            self.max_workers_per_node,
            self.batch_size,
        )


def cpu_step(name: str, seconds: float, cpus: float = 1.0, **more: object) -> SimulatedStep:
    step = SimulatedStep(name, steady(seconds), Need(cpus=round(cpus * UNIT)))
    return replace(step, **more)  # type: ignore[arg-type]


def gpu_step(name: str, seconds: float, gpus: float = 1.0, **more: object) -> SimulatedStep:
    need = Need(cpus=UNIT, gpus=round(gpus * UNIT))
    return replace(SimulatedStep(name, steady(seconds), need), **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SimulatedNode:
    """One node; work takes `slowness` times as long on it."""

    name: str
    capacity: Capacity
    slowness: float = 1.0


def nodes_of(
    count: int, cpus: float, gpus: int = 0, memory: int = 256 * GB, slow: Sequence[int] = ()
) -> list[SimulatedNode]:
    devices = tuple(Device(str(i), 80 * GB) for i in range(gpus))
    capacity = Capacity(cpus, memory, devices)
    return [SimulatedNode(f"node{i}", capacity, 1.5 if i in slow else 1.0) for i in range(count)]
