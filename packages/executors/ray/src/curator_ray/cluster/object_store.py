"""How full the object store of a cluster is, and how much of it was spilled to disk."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curator_ray.cluster.connection import private_folder
from curator_ray.compat import CLUSTER_STATE, MEMORY_INFO, SPILL_SETTINGS

_INTERVAL_S = 5.0
_FIRST_AFTER_S = 1.0
_TIMEOUT_S = 1.0
_SPILL_FOLDERS = "ray/session_*/ray_spilled_objects*"


@dataclass(frozen=True)
class StoreUse:
    """Bytes in the object stores of all nodes, their capacity, and bytes spilled so far."""

    used: int = 0
    limit: int = 0
    spilled: int = 0


class StoreMonitor:
    """Asks the cluster at intervals, until it fails to answer once."""

    def __init__(self) -> None:
        self._latest = StoreUse()
        self._next = time.monotonic() + _FIRST_AFTER_S  # not while a run starts

    def read(self) -> StoreUse:
        """Return the latest figures; ask the cluster if they are old."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _INTERVAL_S
            try:
                self._latest = store_use()
            except Exception:  # noqa: BLE001 - a figure must not harm a run
                self._next = float("inf")
        return self._latest


def store_use() -> StoreUse:
    import ray

    if not ray.is_initialized():  # the questions below would start a cluster
        return StoreUse()
    api: Any = ray
    limit = api.cluster_resources().get("object_store_memory", 0.0)
    free = api.available_resources().get("object_store_memory", limit)
    return StoreUse(int(limit - free), int(limit), _spilled_bytes(api))


def _spilled_bytes(api: Any) -> int:
    """Return 0 if this version of Ray does not say, or grpcio is missing."""
    state_of, memory_info = CLUSTER_STATE.get(), MEMORY_INFO.get()
    if state_of is None or memory_info is None or not _may_have_spilled():
        return 0
    try:
        state = state_of(api.get_runtime_context().gcs_address)
        return int(memory_info(state, timeout_seconds=_TIMEOUT_S).store_stats.spilled_bytes_total)
    except Exception:  # noqa: BLE001 - private, so anything may happen
        return 0


def _may_have_spilled() -> bool:
    """Look for a folder of spilled objects, if this process started the cluster.

    To ask takes grpcio: ten megabytes, and a tenth of a second of a core.
    """
    folder = private_folder()
    if folder is None or any(name.startswith(SPILL_SETTINGS) for name in os.environ):
        return True
    return any(Path(folder).glob(_SPILL_FOLDERS))
