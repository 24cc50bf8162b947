"""What a worker of a stage needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType


@dataclass(frozen=True)
class Resources:
    """What one worker of a stage needs.

    `gpu_memory_gb` becomes a share of the device that a worker really lands on, so it stands
    instead of `gpus`, never beside it.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    gpu_memory_gb: float = 0.0
    memory_gb: float = 0.0
    custom: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        amounts = {
            "cpus": self.cpus,
            "gpus": self.gpus,
            "gpu_memory_gb": self.gpu_memory_gb,
            "memory_gb": self.memory_gb,
            **{f"custom[{name!r}]": amount for name, amount in self.custom.items()},
        }
        for name, amount in amounts.items():
            if not isfinite(amount) or amount < 0:
                raise ValueError(f"resources: {name} is {amount}, but must be 0 or more")
        if self.gpus and self.gpu_memory_gb:
            raise ValueError(
                f"resources: gpus={self.gpus} and gpu_memory_gb={self.gpu_memory_gb} both ask for "
                "a GPU; give a number of devices or the memory on one device, not both"
            )
        object.__setattr__(self, "custom", MappingProxyType(dict(self.custom)))

    @property
    def needs_gpu(self) -> bool:
        return bool(self.gpus or self.gpu_memory_gb)

    def __hash__(self) -> int:
        amounts = (self.cpus, self.gpus, self.gpu_memory_gb, self.memory_gb)
        return hash((amounts, tuple(sorted(self.custom.items()))))

    def __reduce__(self) -> tuple[object, ...]:
        amounts = (self.cpus, self.gpus, self.gpu_memory_gb, self.memory_gb, dict(self.custom))
        return Resources, amounts
