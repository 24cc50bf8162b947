"""Tasks, and the results of calls, as rows of a Ray Data block.

A task is one binary value in which its buffers stay apart, so that Arrow data is mapped from the
object store and not copied. Tasks are pickled here and not by Ray, which has a cloudpickle of its
own: a class that is pickled by value would arrive as another class than the plan's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pickle import PickleBuffer
from struct import Struct
from typing import Any

import cloudpickle
import pyarrow as pa
from curator_core import AnyTask
from curator_core.model.lineage import SourceKey
from curator_ray.worker.messages import CallResult

SCHEMA = pa.schema([("task", pa.large_binary()), ("result", pa.large_binary())])
NO_ROWS = SCHEMA.empty_table()

_HEADER = Struct("<IQ")  # number of buffers, length of the pickle
_BUFFER = Struct("<QQ?")  # offset, length, whether a stage may write into it
_ALIGNMENT = 64


@dataclass
class ResultRow:
    """The result of a call. Its outputs are in the rows before it."""

    worker_id: str
    keys: tuple[SourceKey, ...]
    result: CallResult


def pack_tasks(tasks: Sequence[AnyTask]) -> pa.Table:
    """Pickle each task into a row."""
    values: list[Any] = []
    ends = [0]
    for task in tasks:
        size = 0
        for part in _pickle(task):
            values.append(part)
            size += memoryview(part).nbytes
        ends.append(ends[-1] + size)
    data = b"".join(values)
    offsets = pa.array(ends, pa.int64()).buffers()[1]
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(tasks), [None, offsets, pa.py_buffer(data)]
    )
    return pa.Table.from_arrays([column, pa.nulls(len(tasks), pa.large_binary())], schema=SCHEMA)


def pack_result(row: ResultRow) -> pa.Table:
    pickled = pa.array([cloudpickle.dumps(row, protocol=5)], pa.large_binary())
    return pa.Table.from_arrays([pa.nulls(1, pa.large_binary()), pickled], schema=SCHEMA)


def unpack_tasks(rows: pa.Table) -> Iterator[AnyTask]:
    """Yield the tasks of these rows, unpickling one at a time."""
    for value in _values(rows.column("task")):
        yield _unpickle(value)


def unpack_results(rows: pa.Table) -> list[ResultRow]:
    return [cloudpickle.loads(value) for value in _values(rows.column("result"))]


def select_results(rows: pa.Table) -> pa.Table:
    """Select the rows that are not tasks."""
    return rows.filter(rows.column("result").is_valid())


def _values(column: pa.ChunkedArray) -> Iterator[memoryview]:
    """Yield values without copying them, as Arrow itself would."""
    for chunk in column.chunks:
        if chunk.null_count == len(chunk):
            continue
        _, offsets, data = chunk.buffers()
        ends = memoryview(offsets).cast("q")[chunk.offset :]
        view = memoryview(data)
        for position, is_valid in enumerate(chunk.is_valid().to_pylist()):
            if is_valid:
                yield view[ends[position] : ends[position + 1]]


def _pickle(task: AnyTask) -> Iterator[Any]:
    """Yield header, pickle and buffers, each buffer aligned as Arrow prefers it."""
    buffers: list[PickleBuffer] = []
    body = cloudpickle.dumps(task, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    offset = _align(_HEADER.size + len(views) * _BUFFER.size + len(body))
    entries = []
    for buffer, view in zip(buffers, views, strict=True):
        entries.append(_BUFFER.pack(offset, view.nbytes, _is_writable(buffer)))
        offset = _align(offset + view.nbytes)
    yield from _pad([_HEADER.pack(len(views), len(body)), *entries, body])
    for view in views:
        yield from _pad([view])


def _pad(parts: Iterable[Any]) -> Iterator[Any]:
    size = 0
    for part in parts:
        size += memoryview(part).nbytes
        yield part
    yield bytes(_align(size) - size)


def _align(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _unpickle(value: memoryview) -> AnyTask:
    count, length = _HEADER.unpack_from(value)
    begin = _HEADER.size + count * _BUFFER.size
    buffers: list[Any] = []
    for position in range(count):
        start, size, writable = _BUFFER.unpack_from(value, _HEADER.size + position * _BUFFER.size)
        view = value[start : start + size]
        buffers.append(bytearray(view) if writable else view)
    task: AnyTask = cloudpickle.loads(value[begin : begin + length], buffers=buffers)
    return task


def _is_writable(buffer: PickleBuffer) -> bool:
    """Whether a stage may write into this buffer: into arrays, never into Arrow data.

    The object store is read-only, so a writable buffer is copied when it is unpickled. Stages may
    change their input in place, as on any other executor.
    """
    view = memoryview(buffer)
    return not view.readonly and not type(view.obj).__module__.startswith("pyarrow")
