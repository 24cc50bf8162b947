"""What a worker needs and what a node has, in whole units so that sums are exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Self

from curator_core import Resources

UNIT = 10_000
"""One CPU, one GPU or one of a custom resource: the smallest share is a ten-thousandth."""

GB = 1024**3
NO_LIMIT = 1 << 60


def units_needed(amount: float) -> int:
    """Convert an amount to units, rounded up: a worker never gets less than it needs."""
    return ceil(round(amount * UNIT, 6))


def units_available(amount: float) -> int:
    """Convert an amount to units, rounded down: a node never gives more than it has."""
    return floor(round(amount * UNIT, 6))


@dataclass(frozen=True, slots=True)
class Need:
    """What one worker of a step needs: CPUs while it works, everything else while it lives."""

    cpus: int = UNIT
    gpus: int = 0
    gpu_memory: int = 0
    memory: int = 0
    custom: tuple[tuple[str, int], ...] = ()
    accelerator: str = ""
    """A type of GPU, as Ray names it; empty for any."""

    labels: tuple[tuple[str, str], ...] = ()
    """Labels that the node must have."""

    @classmethod
    def of(cls, resources: Resources) -> Self:
        return cls(
            cpus=units_needed(resources.cpus),
            gpus=units_needed(resources.gpus),
            gpu_memory=ceil(resources.gpu_memory_gb * GB),
            memory=ceil(resources.memory_gb * GB),
            custom=tuple((name, units_needed(n)) for name, n in sorted(resources.custom.items())),
            accelerator=resources.accelerator,
            labels=tuple(sorted(resources.labels.items())),
        )

    @property
    def resources(self) -> Resources:
        return Resources(
            cpus=self.cpus / UNIT,
            gpus=self.gpus / UNIT,
            gpu_memory_gb=self.gpu_memory / GB,
            memory_gb=self.memory / GB,
            custom={name: amount / UNIT for name, amount in self.custom},
            accelerator=self.accelerator,
            labels=dict(self.labels),
        )

    @property
    def is_special(self) -> bool:
        """Whether it is more than CPUs and memory, which takes a dedicated worker."""
        return bool(self.gpus or self.gpu_memory or self.custom)

    def __str__(self) -> str:
        parts = [f"{self.cpus / UNIT:g} CPU{'s' * (self.cpus != UNIT)}"]
        if self.gpus:
            parts.append(f"{self.gpus / UNIT:g} GPU{'s' * (self.gpus != UNIT)}")
        if self.accelerator:
            parts.append(f"of type {self.accelerator}")
        if self.gpu_memory:
            parts.append(f"{self.gpu_memory / GB:g} GB of one GPU")
        if self.memory:
            parts.append(f"{self.memory / GB:g} GB of memory")
        parts += [f"{amount / UNIT:g} {name}" for name, amount in self.custom]
        parts += [f"the label {name}={value}" for name, value in self.labels]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of a node: its index there and its memory in bytes."""

    index: str
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a run may use of one node."""

    cpus: float
    memory: int
    devices: tuple[Device, ...] = ()
    custom: Mapping[str, float] | None = None
    labels: Mapping[str, str] | None = None
    accelerator: str = ""
    """The type of its GPUs."""


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """A part of one GPU; `UNIT` is all of it."""

    device: str
    units: int


@dataclass(frozen=True, slots=True)
class Grant:
    """What a worker holds for its whole life. CPUs are counted per call instead."""

    memory: int = 0
    shares: tuple[DeviceShare, ...] = ()
    custom: tuple[tuple[str, int], ...] = ()

    @property
    def gpus(self) -> float:
        return sum(share.units for share in self.shares) / UNIT
