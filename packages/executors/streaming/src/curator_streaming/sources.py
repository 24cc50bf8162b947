"""Sources: taken from the run as the scheduler asks for them, and sent on their way in parcels."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_ray.suspicions import Suspicions
from curator_ray.travelling import Baggage

from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.stores import Store

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_AT_ONCE_S = 0.03
_PER_PARCEL = 128
_FIRST_PARCEL = 16
"""So many tasks tell how large they are."""

_BYTES_PER_PARCEL = 4 << 20


class Sources:
    """Lists no further than it is asked to, and never for long."""

    def __init__(self, run: "RemoteRun", store: Store, baggage: Baggage, known: Suspicions) -> None:
        self._left = run.sources()
        self._store = store
        self._baggage = baggage
        self._known = known
        self.wanted = 0
        self.has_ended = False
        self._per_task = _BYTES_PER_PARCEL / _FIRST_PARCEL

    @property
    def is_ready(self) -> bool:
        """Whether some are wanted, and may be there."""
        return self.wanted > 0

    def take(self) -> list[Parcel]:
        """Some of those that are wanted."""
        found: list[AnyTask] = []
        until = time.monotonic() + _AT_ONCE_S
        while len(found) < self.wanted and time.monotonic() < until:
            task = next(self._left, None)
            if task is None:
                self.has_ended = True
                self.wanted = 0
                break
            self._known.welcome(task)
            found.append(task)
        self.wanted = max(0, self.wanted - len(found))
        return self.packed(found)

    def packed(self, tasks: list[AnyTask]) -> list[Parcel]:
        for kind in {type(task) for task in tasks}:
            self._baggage.pack_kind(kind)
        return [self._put(few) for few in self._few_at_a_time(tasks)]

    def _put(self, tasks: list[AnyTask]) -> Parcel:
        parcel = self._store.put(tasks)
        self._per_task = parcel.size / len(tasks)
        return parcel

    def _few_at_a_time(self, tasks: list[AnyTask]) -> Iterator[list[AnyTask]]:
        """Tasks know but the surface of what they hold: what the last ones took counts as well."""
        few: list[AnyTask] = []
        size = 0.0
        for task in tasks:
            few.append(task)
            size += max(task.num_bytes, self._per_task)
            if len(few) == _PER_PARCEL or size > _BYTES_PER_PARCEL:
                yield few
                few, size = [], 0
        if few:
            yield few
