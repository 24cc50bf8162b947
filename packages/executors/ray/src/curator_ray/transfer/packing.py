"""Tasks packed for Ray's object store.

Tasks are pickled here, because Ray has a cloudpickle of its own: a class that is pickled by value
would arrive in each worker as a class other than the plan's. Buffers stay out of band, so Arrow
data is mapped from the store and not copied by its readers.
"""

from collections.abc import Sequence
from pickle import PickleBuffer
from typing import Any

import cloudpickle
from curator_core import AnyTask
from curator_core.errors import PipelineError, StageError, reason_of

_CHUNK_TASKS = 64
"""Tasks pickled together. A call that needs few of ten thousand tasks unpacks only their chunks."""


class PackedTasks:
    """Tasks that are pickled once, and unpacked wherever they are needed."""

    __slots__ = ("_chunks", "_count")

    def __init__(self, count: int, chunks: Sequence["_Chunk"]) -> None:
        self._count = count
        self._chunks = chunks

    @classmethod
    def pack(cls, tasks: Sequence[AnyTask]) -> "PackedTasks":
        """Pack tasks without copying data: do not change them before they are in the store."""
        parts = (tasks[at : at + _CHUNK_TASKS] for at in range(0, len(tasks), _CHUNK_TASKS))
        return cls(len(tasks), [_Chunk.pack(part) for part in parts])

    def unpack(self, start: int = 0, stop: int | None = None) -> list[AnyTask]:
        """Return the tasks from `start` to `stop`."""
        start, stop, _ = slice(start, stop).indices(self._count)
        first = start // _CHUNK_TASKS
        tasks: list[AnyTask] = []
        for chunk in self._chunks[first : -(-stop // _CHUNK_TASKS)]:
            tasks += chunk.unpack()
        before = first * _CHUNK_TASKS
        return tasks[start - before : stop - before]

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Size in the object store, except for a little overhead."""
        return sum(chunk.nbytes for chunk in self._chunks)

    def __reduce__(self) -> tuple[object, ...]:
        return PackedTasks, (self._count, self._chunks)


class _Chunk:
    """Tasks that are unpacked together."""

    __slots__ = ("_body", "_buffers", "_writable")

    def __init__(self, body: Any, buffers: Sequence[Any], writable: Sequence[int]) -> None:
        self._body = body
        self._buffers = buffers
        self._writable = writable

    @classmethod
    def pack(cls, tasks: Sequence[AnyTask]) -> "_Chunk":
        buffers: list[PickleBuffer] = []
        body = cloudpickle.dumps(list(tasks), protocol=5, buffer_callback=buffers.append)
        writable = tuple(i for i, buffer in enumerate(buffers) if _is_writable(buffer))
        return cls(PickleBuffer(body), buffers, writable)

    def unpack(self) -> list[AnyTask]:
        buffers = list(self._buffers)
        for position in self._writable:
            buffers[position] = bytearray(buffers[position])
        tasks: list[AnyTask] = cloudpickle.loads(self._body, buffers=buffers)
        return tasks

    @property
    def nbytes(self) -> int:
        return sum(memoryview(part).nbytes for part in (self._body, *self._buffers))

    def __reduce__(self) -> tuple[object, ...]:
        return _Chunk, (self._body, self._buffers, self._writable)


def _is_writable(buffer: PickleBuffer) -> bool:
    """Whether a stage may write into the object of this buffer: an array, but never Arrow data.

    The store is read-only. Its readers copy such buffers, so that a stage may change its input in
    place, as on any other executor.
    """
    view = memoryview(buffer)
    return not view.readonly and not type(view.obj).__module__.startswith("pyarrow")


def put_tasks(tasks: list[AnyTask]) -> tuple[Any, int]:
    """Put tasks of this process into the object store; return the reference and the bytes."""
    import ray

    try:
        packed = PackedTasks.pack(tasks)
    except Exception as error:
        others = len(tasks) - 1
        also = f", or another of the {others} tasks sent with it," if others else ""
        raise PipelineError(
            f"task {tasks[0].task_id} ({type(tasks[0]).__name__}){also} cannot be sent to a worker "
            f"process, because it cannot be pickled ({reason_of(error)}); give tasks of plain "
            "data, or run with LocalExecutor(workers=0)"
        ) from error
    nbytes = packed.nbytes
    try:
        return ray.put(packed), nbytes
    except ray.exceptions.RayError as error:
        raise StageError(
            f"task {tasks[0].task_id} does not fit into the object store: it takes "
            f"{nbytes / 1e6:.0f} MB; make tasks smaller, or the store larger (object_store_gb)",
            task_id=tasks[0].task_id,
        ) from error
