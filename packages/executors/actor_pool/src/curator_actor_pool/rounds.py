"""Rounds: how many sources go through the stages together, and the sources of each round."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.transfer.modules import PlanPacker
from curator_ray.transfer.packing import put_tasks

from curator_actor_pool.stored_tasks import StoredRange, StoredTasks

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

EVERYTHING = sys.maxsize
GROWTH = 4
"""Maximum growth factor from one round to the next."""

_PACK_TASKS = 256
_PACK_BYTES = 4 << 20


class RoundSizer:
    """Lets rounds grow from one source: a broken pipeline fails fast, the first output comes early.

    A round's data between two stages stays within `max_bytes`, and its duration within `seconds`.
    With `is_batch` there is one round of everything.
    """

    def __init__(self, max_bytes: float, seconds: float, *, is_batch: bool) -> None:
        self.sources = EVERYTHING if is_batch else 1
        """How many sources the next round has."""
        self.max_bytes = EVERYTHING if is_batch else max_bytes
        self._seconds = seconds
        self._is_batch = is_batch

    def record(self, sources: int, peak_bytes: float, seconds: float) -> None:
        """Record a round: its sources, the most bytes between two stages, and its duration."""
        if self._is_batch or not sources:
            return
        wanted = float(sources * GROWTH)
        if peak_bytes:
            wanted = min(wanted, sources * self.max_bytes / peak_bytes)
        if seconds:
            wanted = min(wanted, sources * self._seconds / seconds)
        self.sources = max(1, int(wanted))


class RoundSources:
    """Takes sources from the run, no more than a round needs, and puts them into the store."""

    def __init__(
        self, run: "RemoteRun", packer: PlanPacker, crashes: CrashHistory, reruns: SourceReruns
    ) -> None:
        self._remaining = run.sources()
        self._next_source = next(self._remaining, None)
        self._packer = packer
        self._crashes = crashes
        self._reruns = reruns

    @property
    def is_exhausted(self) -> bool:
        return self._next_source is None

    def take(self, count: int, max_bytes: float) -> list[StoredRange]:
        """Return those of one round: all that run again, then up to `count` new ones."""
        ranges = [self._store(tasks) for tasks in _packs(iter(self._reruns.take()))]
        size = 0.0
        for tasks in _packs(self._next(count)):
            ranges.append(self._store(tasks))
            size += ranges[-1].nbytes
            if size >= max_bytes:
                break
        return ranges

    def _next(self, count: int) -> Iterator[AnyTask]:
        for _ in range(count):
            task = self._next_source
            if task is None:
                return
            self._next_source = next(self._remaining, None)
            self._crashes.add_source(task)
            yield task

    def _store(self, tasks: list[AnyTask]) -> StoredRange:
        for kind in {type(task) for task in tasks}:
            self._packer.add_task_type(kind)
        ref, size = put_tasks(tasks)
        ids, keys = [task.task_id for task in tasks], [tuple(task.lineage) for task in tasks]
        return StoredRange.of(StoredTasks(ref, ids, keys, size))


def _packs(tasks: Iterator[AnyTask]) -> Iterator[list[AnyTask]]:
    pack: list[AnyTask] = []
    size = 0
    for task in tasks:
        pack.append(task)
        size += task.num_bytes
        if len(pack) == _PACK_TASKS or size > _PACK_BYTES:
            yield pack
            pack, size = [], 0
    if pack:
        yield pack
