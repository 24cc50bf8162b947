"""Sources: taken from the run as rounds need them, and sent on their way in parcels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.transfer.modules import PlanPacker
from curator_ray.transfer.packing import put_tasks

from curator_actor_pool.lots import Lot, Stored

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_PER_PARCEL = 256
_BYTES_PER_PARCEL = 4 << 20


class Sources:
    """Lists no further than a round goes."""

    def __init__(
        self, run: "RemoteRun", packer: PlanPacker, known: CrashHistory, repeats: SourceReruns
    ) -> None:
        self._left = run.sources()
        self._packer = packer
        self._known = known
        self._repeats = repeats
        self.has_ended = False

    def take(self, count: int, room: float) -> list[Lot]:
        """Those of one round: first what is run again, then `count` more within `room` bytes."""
        lots = [Lot.of(self._sent(tasks)) for tasks in _packs(iter(self._repeats.take()))]
        taken, size = 0, 0.0
        for tasks in _packs(self._next(count)):
            lots.append(Lot.of(self._sent(tasks)))
            taken += len(tasks)
            size += lots[-1].parcel.nbytes
            if size >= room:
                break
        return lots

    def _next(self, count: int) -> Iterator[AnyTask]:
        for _ in range(count):
            task = next(self._left, None)
            if task is None:
                self.has_ended = True
                return
            self._known.add_source(task)
            yield task

    def _sent(self, tasks: list[AnyTask]) -> Stored:
        for kind in {type(task) for task in tasks}:
            self._packer.add_task_type(kind)
        ref, size = put_tasks(tasks)
        return Stored(ref, [t.task_id for t in tasks], [tuple(t.lineage) for t in tasks], size)


def _packs(tasks: Iterator[AnyTask]) -> Iterator[list[AnyTask]]:
    """A few at a time. Tasks know but the surface of what they hold, so not too many of them."""
    few: list[AnyTask] = []
    size = 0
    for task in tasks:
        few.append(task)
        size += task.num_bytes
        if len(few) == _PER_PARCEL or size > _BYTES_PER_PARCEL:
            yield few
            few, size = [], 0
    if few:
        yield few
