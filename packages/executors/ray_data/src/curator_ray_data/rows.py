"""Rows: tasks, and what is told about calls, as Ray Data carries them.

A task is one binary value in which its buffers stay apart, so Arrow data is mapped from the object
store and never copied by whoever reads it. Tasks are pickled here and not by Ray, which has a
cloudpickle of its own: a class that travels by value would arrive as another class than the plan's.
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

SCHEMA = pa.schema([("task", pa.large_binary()), ("told", pa.large_binary())])

_HEAD = Struct("<IQ")  # buffers, length of the body
_PART = Struct("<QQ?")  # where it begins, how long it is, whether a stage may write into it
_GRAIN = 64


@dataclass
class Told:
    """What became of a call: it travels behind its outputs, so that no source goes unaccounted."""

    worker_id: str
    keys: tuple[SourceKey, ...]
    answer: CallResult
    was_skipped: bool = False
    """The run is to stop: the tasks were not begun."""


def rows_of_tasks(tasks: Sequence[AnyTask]) -> pa.Table:
    """One row for each task."""
    values: list[Any] = []
    ends = [0]
    for task in tasks:
        size = 0
        for part in _parts_of(task):
            values.append(part)
            size += memoryview(part).nbytes
        ends.append(ends[-1] + size)
    data = b"".join(values)
    offsets = pa.array(ends, pa.int64()).buffers()[1]
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(tasks), [None, offsets, pa.py_buffer(data)]
    )
    return pa.Table.from_arrays([column, pa.nulls(len(tasks), pa.large_binary())], schema=SCHEMA)


def row_of(told: Told) -> pa.Table:
    dumped = pa.array([cloudpickle.dumps(told, protocol=5)], pa.large_binary())
    return pa.Table.from_arrays([pa.nulls(1, pa.large_binary()), dumped], schema=SCHEMA)


def tasks_in(rows: pa.Table) -> Iterator[AnyTask]:
    """The tasks of these rows, each opened as it is asked for."""
    for value in _values(rows.column("task")):
        yield _opened(value)


def told_in(rows: pa.Table) -> list[Told]:
    return [cloudpickle.loads(value) for value in _values(rows.column("told"))]


def told_rows(rows: pa.Table) -> pa.Table:
    """The rows that are no tasks, to be passed on as they are."""
    return rows.filter(rows.column("told").is_valid())


def _values(column: pa.ChunkedArray) -> Iterator[memoryview]:
    """Looked up by hand: Arrow copies a value that it is asked for."""
    for chunk in column.chunks:
        if chunk.null_count == len(chunk):
            continue
        _, offsets, data = chunk.buffers()
        ends = memoryview(offsets).cast("q")[chunk.offset :]
        view = memoryview(data)
        for position, is_valid in enumerate(chunk.is_valid().to_pylist()):
            if is_valid:
                yield view[ends[position] : ends[position + 1]]


def _parts_of(task: AnyTask) -> Iterator[Any]:
    """Head, body and buffers, each buffer where Arrow likes it to begin."""
    buffers: list[PickleBuffer] = []
    body = cloudpickle.dumps(task, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    begin = _padded(_HEAD.size + len(views) * _PART.size + len(body))
    parts = []
    for buffer, view in zip(buffers, views, strict=True):
        parts.append(_PART.pack(begin, view.nbytes, _is_writable(buffer)))
        begin = _padded(begin + view.nbytes)
    yield from _filled([_HEAD.pack(len(views), len(body)), *parts, body])
    for view in views:
        yield from _filled([view])


def _filled(parts: Iterable[Any]) -> Iterator[Any]:
    size = 0
    for part in parts:
        size += memoryview(part).nbytes
        yield part
    yield bytes(_padded(size) - size)


def _padded(size: int) -> int:
    return -(-size // _GRAIN) * _GRAIN


def _opened(value: memoryview) -> AnyTask:
    count, length = _HEAD.unpack_from(value)
    begin = _HEAD.size + count * _PART.size
    buffers: list[Any] = []
    for position in range(count):
        start, size, writable = _PART.unpack_from(value, _HEAD.size + position * _PART.size)
        view = value[start : start + size]
        buffers.append(bytearray(view) if writable else view)
    task: AnyTask = cloudpickle.loads(value[begin : begin + length], buffers=buffers)
    return task


def _is_writable(buffer: PickleBuffer) -> bool:
    """Whether a stage may write into it: an array, but never Arrow data.

    The store is read-only, so such a buffer is copied by the reader: as on any other executor, a
    stage may change in place what it was given.
    """
    view = memoryview(buffer)
    return not view.readonly and not type(view.obj).__module__.startswith("pyarrow")
