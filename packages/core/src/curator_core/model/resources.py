"""Resources that a worker needs, and the node that it runs on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Resources:
    """What one worker of a stage needs.

    `gpu_memory_gb` becomes a share of whichever GPU the worker is placed on, so set either it or
    `gpus`, not both. `accelerator` is a type of GPU as Ray names it, such as "H100". `labels` are
    labels that the node must have.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    gpu_memory_gb: float = 0.0
    memory_gb: float = 0.0
    custom: Mapping[str, float] = field(default_factory=dict)
    accelerator: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

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
        if self.accelerator and not self.needs_gpu:
            raise ValueError(
                f"resources: accelerator={self.accelerator!r} names a type of GPU, but no GPU is "
                "asked for; set gpus or gpu_memory_gb as well"
            )
        object.__setattr__(self, "custom", MappingProxyType(dict(self.custom)))
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))

    @property
    def needs_gpu(self) -> bool:
        return bool(self.gpus or self.gpu_memory_gb)

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked for, by name, without zeros."""
        amounts = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: amount for name, amount in amounts.items() if amount}
        return given | {
            name: dict(value) for name, value in given.items() if isinstance(value, Mapping)
        }

    def __hash__(self) -> int:
        return hash(
            tuple(
                tuple(sorted(value.items())) if isinstance(value, Mapping) else value
                for value in self._values()
            )
        )

    def __reduce__(self) -> tuple[object, ...]:
        values = self._values()
        return Resources, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)

    def _values(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class NodeInfo:
    """A machine that runs stages."""

    node_id: str = "local"


@dataclass(frozen=True)
class WorkerInfo:
    """A worker and the resources granted to it.

    `run_token` marks the unpublished files of this run.
    """

    worker_id: str = "0"
    node: NodeInfo = NodeInfo()
    granted: Resources = Resources()
    run_token: str = "adhoc"
    gpu_ids: tuple[str, ...] = ()

    @property
    def device(self) -> str:
        """`cuda:0` if a GPU was granted (visible devices count from 0), else `cpu`."""
        return "cuda:0" if self.gpu_ids else "cpu"
