"""Parcels: tasks on their way through Ray's object store.

Tasks are pickled here and not by Ray, which has a cloudpickle of its own: a class that travels by
value would arrive in each worker as another class than the plan's. Buffers stay apart, so Arrow
data is mapped from the store and never copied by whoever reads it.
"""

from collections.abc import Sequence
from pickle import PickleBuffer
from typing import Any

import cloudpickle
from curator_core.outcomes import AnyTask


class Parcel:
    """Some tasks, packed once, opened wherever they are needed."""

    __slots__ = ("_body", "_buffers", "_count", "_writable")

    def __init__(
        self, count: int, body: Any, buffers: Sequence[Any], writable: Sequence[int]
    ) -> None:
        self._count = count
        self._body = body
        self._buffers = buffers
        self._writable = writable

    @classmethod
    def of(cls, tasks: Sequence[AnyTask]) -> "Parcel":
        """Pack tasks. They are not copied yet, so they must not be changed until it has left."""
        buffers: list[PickleBuffer] = []
        body = cloudpickle.dumps(list(tasks), protocol=5, buffer_callback=buffers.append)
        writable = tuple(i for i, buffer in enumerate(buffers) if _is_writable(buffer))
        return cls(len(tasks), PickleBuffer(body), buffers, writable)

    def open(self, start: int = 0, stop: int | None = None) -> list[AnyTask]:
        """The tasks, or those from `start` to `stop`."""
        buffers = list(self._buffers)
        for position in self._writable:
            buffers[position] = bytearray(buffers[position])
        tasks: list[AnyTask] = cloudpickle.loads(self._body, buffers=buffers)
        return tasks[start:stop]

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """What it takes in the object store, but for a little."""
        return sum(memoryview(part).nbytes for part in (self._body, *self._buffers))

    def __reduce__(self) -> tuple[object, ...]:
        return Parcel, (self._count, self._body, self._buffers, self._writable)


def _is_writable(buffer: PickleBuffer) -> bool:
    """Whether a stage may write into what it stands for: an array, but never Arrow data.

    The store is read-only, so such a buffer is copied by the reader: as on any other executor, a
    stage may change in place what it was given.
    """
    view = memoryview(buffer)
    return not view.readonly and not type(view.obj).__module__.startswith("pyarrow")
