"""Hardware of this machine: its CPUs, memory and GPUs, and full GPUs."""

import gc
import os
import re
import sys
from contextlib import suppress


def available_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def total_memory_gb() -> float:
    """Return the memory of this machine, or the limit of its container."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit) as file:
                there = min(there, int(file.read()))
        except (OSError, ValueError):  # no container, or no limit
            continue
    return there / 1e9


def visible_gpus() -> list[str]:
    """Return the ids of the GPUs that this process may use."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [device for device in chosen.split(",") if device and device != "-1"]
    try:
        devices = [re.fullmatch(r"nvidia(\d+)", name) for name in os.listdir("/dev")]
    except OSError:
        return []
    return sorted((device[1] for device in devices if device), key=int)


_MESSAGES = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""Parts of torch's messages, on GPUs of any kind and on CPUs."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether a device ran out of memory. Matches by name: torch may not be installed."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MESSAGES)


def empty_device_cache() -> None:
    """Release the GPU memory that torch caches.

    Call this outside the `except` block: while the error is alive, its traceback keeps tensors
    alive.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    with suppress(AttributeError, RuntimeError):  # torch is half imported, or the device failed
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
