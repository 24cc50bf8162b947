"""Parcels: tasks on their way through Ray's object store.

Tasks are pickled here and not by Ray, which has a cloudpickle of its own: a class that travels by
value would arrive in each worker as another class than the plan's. Buffers stay apart, so Arrow
data is mapped from the store and never copied by whoever reads it.
"""

from collections.abc import Sequence
from pickle import PickleBuffer
from typing import Any

import cloudpickle
from curator_core import AnyTask

_TOGETHER = 64
"""So many tasks are packed in one: a call that wants few of ten thousand opens no others."""


class Parcel:
    """Some tasks, packed once, opened wherever they are needed."""

    __slots__ = ("_bundles", "_count")

    def __init__(self, count: int, bundles: Sequence["_Bundle"]) -> None:
        self._count = count
        self._bundles = bundles

    @classmethod
    def of(cls, tasks: Sequence[AnyTask]) -> "Parcel":
        """Pack tasks. They are not copied yet, so they must not be changed until it has left."""
        parts = (tasks[at : at + _TOGETHER] for at in range(0, len(tasks), _TOGETHER))
        return cls(len(tasks), [_Bundle.of(part) for part in parts])

    def open(self, start: int = 0, stop: int | None = None) -> list[AnyTask]:
        """The tasks, or those from `start` to `stop`."""
        start, stop, _ = slice(start, stop).indices(self._count)
        first = start // _TOGETHER
        tasks: list[AnyTask] = []
        for bundle in self._bundles[first : -(-stop // _TOGETHER)]:
            tasks += bundle.open()
        before = first * _TOGETHER
        return tasks[start - before : stop - before]

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """What it takes in the object store, but for a little."""
        return sum(bundle.nbytes for bundle in self._bundles)

    def __reduce__(self) -> tuple[object, ...]:
        return Parcel, (self._count, self._bundles)


class _Bundle:
    """Tasks that are opened together."""

    __slots__ = ("_body", "_buffers", "_writable")

    def __init__(self, body: Any, buffers: Sequence[Any], writable: Sequence[int]) -> None:
        self._body = body
        self._buffers = buffers
        self._writable = writable

    @classmethod
    def of(cls, tasks: Sequence[AnyTask]) -> "_Bundle":
        buffers: list[PickleBuffer] = []
        body = cloudpickle.dumps(list(tasks), protocol=5, buffer_callback=buffers.append)
        writable = tuple(i for i, buffer in enumerate(buffers) if _is_writable(buffer))
        return cls(PickleBuffer(body), buffers, writable)

    def open(self) -> list[AnyTask]:
        buffers = list(self._buffers)
        for position in self._writable:
            buffers[position] = bytearray(buffers[position])
        tasks: list[AnyTask] = cloudpickle.loads(self._body, buffers=buffers)
        return tasks

    @property
    def nbytes(self) -> int:
        return sum(memoryview(part).nbytes for part in (self._body, *self._buffers))

    def __reduce__(self) -> tuple[object, ...]:
        return _Bundle, (self._body, self._buffers, self._writable)


def _is_writable(buffer: PickleBuffer) -> bool:
    """Whether a stage may write into what it stands for: an array, but never Arrow data.

    The store is read-only, so such a buffer is copied by the reader: as on any other executor, a
    stage may change in place what it was given.
    """
    view = memoryview(buffer)
    return not view.readonly and not type(view.obj).__module__.startswith("pyarrow")
