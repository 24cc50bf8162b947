"""Node usage: how much memory of a machine and of its GPUs is in use now, and at most."""

import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """Memory in use on one GPU, and the share of time in which it worked (None if unknown)."""

    used_bytes: int
    total_bytes: int
    utilization: float | None = None

    @property
    def memory_share(self) -> float:
        return self.used_bytes / self.total_bytes if self.total_bytes else 0.0

    def peak(self, other: "GpuUsage") -> "GpuUsage":
        return GpuUsage(
            max(self.used_bytes, other.used_bytes),
            max(self.total_bytes, other.total_bytes),
            max((u for u in (self.utilization, other.utilization) if u is not None), default=None),
        )


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """Memory in use on one machine, or in its container, and on its GPUs."""

    used_bytes: int = 0
    total_bytes: int = 0
    gpus: tuple[GpuUsage, ...] = ()

    def peak(self, other: "NodeUsage") -> "NodeUsage":
        """Return the larger of each two figures."""
        gpus = zip_longest(self.gpus, other.gpus, fillvalue=GpuUsage(0, 0))
        return NodeUsage(
            max(self.used_bytes, other.used_bytes),
            max(self.total_bytes, other.total_bytes),
            tuple(one.peak(another) for one, another in gpus),
        )

    def to_json(self) -> list[Any]:
        gpus = [[gpu.used_bytes, gpu.total_bytes, gpu.utilization] for gpu in self.gpus]
        return [self.used_bytes, self.total_bytes, gpus]

    @classmethod
    def from_json(cls, facts: Iterable[Any]) -> Self:
        used, total, gpus = facts
        return cls(used, total, tuple(GpuUsage(*gpu) for gpu in gpus))


def read_node_usage() -> NodeUsage:
    """Return the usage of this machine. Figures that the system does not report are 0."""
    used, total = _container_memory() or _machine_memory()
    return NodeUsage(used, total, read_gpus())


class ThisMachine:
    """Reads the usage of this machine, at most once per interval."""

    def __init__(self, name: str = "", interval_s: float = 1.0) -> None:
        self._name = name or platform.node()
        self._interval_s = interval_s
        self._next = 0.0
        self._usage = NodeUsage()

    def __call__(self) -> Mapping[str, NodeUsage]:
        if (now := time.monotonic()) >= self._next:
            self._next = now + self._interval_s
            self._usage = read_node_usage()
        return {self._name: self._usage}


def _machine_memory() -> tuple[int, int]:
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
    except (OSError, ValueError):
        return 0, 0
    total, free = (int(lines[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return total - free, total


def _container_memory() -> tuple[int, int] | None:
    try:
        with (
            open("/sys/fs/cgroup/memory.max") as limit,
            open("/sys/fs/cgroup/memory.current") as used,
        ):
            return int(used.read()), int(limit.read())
    except (OSError, ValueError):  # no container, or its limit is `max`
        return None


def read_gpus() -> tuple[GpuUsage, ...]:
    """Return the usage of all GPUs of this machine; of none without nvidia-ml-py and a driver."""
    nvml = _nvml()
    if nvml is None:
        return ()
    try:
        return tuple(_read_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
    except nvml.NVMLError:  # a GPU was lost
        return ()


def _read_gpu(nvml: Any, index: int) -> GpuUsage:
    device = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = nvml.nvmlDeviceGetMemoryInfo(device)
    try:
        utilization = nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100
    except nvml.NVMLError:  # not known for parts of a GPU
        utilization = None
    return GpuUsage(memory.used, memory.total, utilization)


@cache
def _nvml() -> Any:
    """Return nvidia-ml-py, or None if it or a driver is not installed."""
    try:
        nvml: Any = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - not installed, no driver, or an unsupported version
        return None
    return nvml
