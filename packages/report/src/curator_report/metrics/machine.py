"""Memory and GPUs of the driver's machine."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from prometheus_client.core import GaugeMetricFamily

from curator_report.metrics.names import PREFIX


def machine_families() -> Iterator[GaugeMetricFamily]:
    memory = GaugeMetricFamily(
        f"{PREFIX}machine_memory_bytes",
        "Memory of the driver's machine, or what its container may take of that.",
        labels=["state"],
    )
    for state, figure in memory_bytes().items():
        memory.add_metric([state], figure)
    yield memory
    yield from _gpu_families()


def memory_bytes() -> dict[str, int]:
    """Return `used` and `limit`, or nothing if the system does not report them."""
    of_container = _of_container()
    if of_container:
        return of_container
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
    except (OSError, ValueError):
        return {}
    total, free = (int(lines[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return {"used": total - free, "limit": total}


def _of_container() -> dict[str, int]:
    try:
        with (
            open("/sys/fs/cgroup/memory.max") as limit,
            open("/sys/fs/cgroup/memory.current") as used,
        ):
            return {"used": int(used.read()), "limit": int(limit.read())}
    except (OSError, ValueError):  # no container, or its limit is `max`
        return {}


def _gpu_families() -> Iterator[GaugeMetricFamily]:
    nvml = _nvml()
    if nvml is None:
        return
    memory = GaugeMetricFamily(
        f"{PREFIX}gpu_memory_bytes", "Memory of each GPU.", labels=["gpu", "state"]
    )
    at_work = GaugeMetricFamily(
        f"{PREFIX}gpu_utilization_ratio", "How much of the time it was at work.", labels=["gpu"]
    )
    for number in range(nvml.nvmlDeviceGetCount()):
        device = nvml.nvmlDeviceGetHandleByIndex(number)
        found = nvml.nvmlDeviceGetMemoryInfo(device)
        memory.add_metric([str(number), "used"], found.used)
        memory.add_metric([str(number), "limit"], found.total)
        at_work.add_metric([str(number)], nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100)
    yield memory
    yield at_work


@cache
def _nvml() -> Any:
    """Return nvidia-ml-py, or None if it or a driver is not installed."""
    try:
        pynvml: Any = import_module("pynvml")
        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - not installed, no driver, or an unsupported version
        return None
    return pynvml
