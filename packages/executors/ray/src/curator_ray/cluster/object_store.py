"""How full the object store of a cluster is, and how much was spilled."""

import json
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

_EVERY_S = 5.0
_PATIENCE_S = 1.0
_FOLDERS = "ray_spilled_objects*"


@dataclass(frozen=True)
class StoreUse:
    """Bytes in the object stores of all nodes, what fits there, and what was spilled so far."""

    used: int = 0
    limit: int = 0
    spilled: int = 0


class StoreMonitor:
    """Asks the cluster now and then, and no more once it has not answered."""

    def __init__(self) -> None:
        self._known = StoreUse()
        self._next = time.monotonic() + 1.0  # the start of a run has better things to do

    def read(self) -> StoreUse:
        """What was known last; asks anew where that is a while ago."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY_S
            try:
                self._known = store_use()
            except Exception:  # noqa: BLE001 - a courtesy, whatever Ray makes of the question
                self._next = float("inf")
        return self._known


def store_use() -> StoreUse:
    import ray

    if not ray.is_initialized():  # to ask would start a cluster
        return StoreUse()
    asked: Any = ray
    limit = asked.cluster_resources().get("object_store_memory", 0.0)
    free = asked.available_resources().get("object_store_memory", limit)
    return StoreUse(int(limit - free), int(limit), _spilled())


def _spilled() -> int:
    """0 where this version of Ray, or a missing grpcio, does not tell."""
    if not _may_have_spilled():
        return 0
    try:
        internal: Any = import_module("ray._private.internal_api")
        context: Any = import_module("ray").get_runtime_context()
        state = internal.get_state_from_address(context.gcs_address)  # else: any on this machine
        reply = internal.get_memory_info_reply(state, timeout_seconds=_PATIENCE_S)
        return int(reply.store_stats.spilled_bytes_total)
    except Exception:  # noqa: BLE001 - none of it is promised by Ray
        return 0


def _may_have_spilled() -> bool:
    """Who spills makes a folder first. Where this process started the cluster it can look for it:
    to ask takes grpcio, which is ten megabytes and a tenth of a second of a core."""
    node: Any = getattr(import_module("ray._private.worker"), "_global_node", None)
    try:
        if not node.is_head():
            return True
        places = json.loads(node._object_spilling_config)["params"]["directory_path"]  # noqa: SLF001
        places = [places] if isinstance(places, str) else places
        return any(next(Path(place).glob(_FOLDERS), None) for place in places)
    except (AttributeError, KeyError, TypeError, ValueError):  # another cluster, or storage
        return True
