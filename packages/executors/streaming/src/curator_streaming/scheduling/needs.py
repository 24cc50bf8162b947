"""What workers need and what they are granted, in whole units so that sums are exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Self

from curator_core import Resources

UNIT = 10_000
"""One CPU, one GPU or one of anything custom: the smallest share is a ten-thousandth."""

GB = 1024**3


def demanded(amount: float) -> int:
    """An amount in units, rounded up: a need is never made smaller than it is."""
    return ceil(round(amount * UNIT, 6))


def offered(amount: float) -> int:
    """An amount in units, rounded down: what is there is never made larger than it is."""
    return floor(round(amount * UNIT, 6))


@dataclass(frozen=True, slots=True)
class Need:
    """What one worker of a step needs: CPUs while it works, all else as long as it lives."""

    cpus: int = UNIT
    gpus: int = 0
    gpu_memory: int = 0
    memory: int = 0
    custom: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, resources: Resources) -> Self:
        return cls(
            cpus=demanded(resources.cpus),
            gpus=demanded(resources.gpus),
            gpu_memory=ceil(resources.gpu_memory_gb * GB),
            memory=ceil(resources.memory_gb * GB),
            custom=tuple((name, demanded(n)) for name, n in sorted(resources.custom.items())),
        )

    @property
    def is_special(self) -> bool:
        """Whether it needs more than CPUs and memory, and so a worker of its own."""
        return bool(self.gpus or self.gpu_memory or self.custom)

    def __str__(self) -> str:
        parts = [f"{self.cpus / UNIT:g} CPU{'s' * (self.cpus != UNIT)}"]
        if self.gpus:
            parts.append(f"{self.gpus / UNIT:g} GPU{'s' * (self.gpus != UNIT)}")
        if self.gpu_memory:
            parts.append(f"{self.gpu_memory / GB:g} GB of one GPU")
        if self.memory:
            parts.append(f"{self.memory / GB:g} GB of memory")
        parts += [f"{amount / UNIT:g} {name}" for name, amount in self.custom]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of a node, as the node numbers it, with its memory in bytes."""

    index: str
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one node has for us."""

    cpus: float
    memory: int
    devices: tuple[Device, ...] = ()
    custom: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A part of one GPU, in units; `UNIT` is all of it."""

    device: str
    units: int


@dataclass(frozen=True, slots=True)
class Grant:
    """What a worker holds for its whole life. CPUs are counted while calls are under way."""

    memory: int = 0
    shares: tuple[Share, ...] = ()
    custom: tuple[tuple[str, int], ...] = ()

    @property
    def gpus(self) -> float:
        return sum(share.units for share in self.shares) / UNIT
