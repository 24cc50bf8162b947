"""Requests: tasks that callers hand in one by one, instead of a run that lists them."""

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_core.run.sources import Source
from curator_ray.suspicions import Suspicions
from curator_ray.travelling import Baggage

from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.stores import Store

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun


@dataclass(frozen=True)
class Request:
    """A task that was handed in."""

    source: Source
    submitted: AnyTask
    since: float = field(default_factory=time.monotonic)


class Requests:
    """What has been handed in and not yet begun; filled by callers, emptied by the driver."""

    def __init__(self, run: "ActiveRun", baggage: Baggage, bell: threading.Event) -> None:
        self.wanted = 0
        self._run = run
        self._baggage = baggage
        self._bell = bell
        self._waiting: deque[Request] = deque()
        self._is_closed = False
        self._store: Store
        self._known: Suspicions

    def goes_to(self, store: Store, known: Suspicions) -> "Requests":
        """Where the tasks are put when they are taken."""
        self._store, self._known = store, known
        return self

    # For callers

    def add(self, request: Request) -> None:
        self._waiting.append(request)
        self._bell.set()

    def close(self) -> None:
        """No more will be handed in."""
        self._is_closed = True
        self._bell.set()

    # For the driver

    @property
    def has_ended(self) -> bool:
        return self._is_closed and not self._waiting

    @property
    def is_ready(self) -> bool:
        return self.wanted > 0 and bool(self._waiting)

    def take(self) -> list[Parcel]:
        tasks: list[AnyTask] = []
        while self._waiting and len(tasks) < self.wanted:
            task = self._run.admit(self._waiting.popleft().source)
            self._known.welcome(task)
            tasks.append(task)
        self.wanted -= len(tasks)
        return self.packed(tasks)

    def packed(self, tasks: list[AnyTask]) -> list[Parcel]:
        """Each in a parcel of its own: they are answered one by one."""
        for kind in {type(task) for task in tasks}:
            self._baggage.pack_kind(kind)
        return [self._store.put([task]) for task in tasks]
