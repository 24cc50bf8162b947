"""Standing in: what Ray Data starts actors for, done in this process where the cluster is our own.

Each of them is a process that imports Ray Data before it says anything, and no task is started
before one of them has told what there is. One knows which resources are reserved for whom: on a
private cluster all are, for its one job. The other collects figures for a dashboard, which is there
only if somebody wanted one.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from curator_ray.cluster.connection import Connection
from curator_ray.cluster.nodes import ClusterFacts

from curator_ray_data.insides import Undo, instead_of_counting, instead_of_reserving

GB = 1e9

_FIRST_S = 1.0
"""After so long a short run is over, and what a long one loses by then is little."""


class Reservations:
    """Everything is reserved for whoever asks; nothing can be asked for in addition.

    At first it is only a part of the CPUs: to start a process for each small share of one at once
    would keep all of them from beginning.
    """

    def __init__(self, resources: Mapping[str, Mapping[str, float]], at_first: float) -> None:
        self._resources = {node: dict(amounts) for node, amounts in resources.items()}
        self._part = at_first
        self._began = time.monotonic()

    def request_resources(self, *_: Any, **__: Any) -> None: ...

    def cancel_request(self) -> None: ...

    def get_reserved_resources(self) -> dict[str, dict[str, float]]:
        is_first = time.monotonic() - self._began < _FIRST_S
        part = self._part if is_first else 1.0
        return {
            node: {**amounts, "CPU": amounts["CPU"] * part}
            for node, amounts in self._resources.items()
        }


class _Unheard:
    """An actor to which anything may be said."""

    def __getattr__(self, name: str) -> "_Unheard":
        return self

    def remote(self, *_: Any, **__: Any) -> None: ...


class _Replaced:
    """What stands in, for as long as any run of this process is on its private cluster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._undo: list[Undo] = []

    def begin(self, cluster: ClusterFacts, at_first: float) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            reservations = Reservations(_resources_of(cluster), at_first)
            self._undo = instead_of_reserving(lambda *_, **__: reservations)
            self._undo += instead_of_counting(_Unheard)

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            while self._undo and not self._users:
                self._undo.pop()()


_REPLACED = _Replaced()


@contextmanager
def in_this_process(
    connection: Connection, cluster: ClusterFacts, smallest: float
) -> Iterator[None]:
    """For the time of a run on a private cluster that looks like this, and that nobody looks at.

    `smallest`: how much of a CPU the most modest stage asks for.
    """
    if connection.kind != "private" or connection.has_dashboard:
        yield
        return
    _REPLACED.begin(cluster, min(1.0, smallest))
    try:
        yield
    finally:
        _REPLACED.end()


def _resources_of(cluster: ClusterFacts) -> dict[str, dict[str, float]]:
    return {
        node.node_id: {
            "CPU": node.cpus,
            "GPU": node.gpus,
            "memory": node.memory_gb * GB,
            "object_store_memory": node.object_store_gb * GB,
        }
        for node in cluster.nodes
    }
