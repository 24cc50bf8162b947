"""IPC: messages between the parent and its workers, and their framing.

Stages and tasks may be defined in a script or a notebook, so they are pickled by value if they
cannot be imported. Unpickling is safe: both ends are processes of this run.
"""

import io
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from struct import Struct
from typing import Any

import cloudpickle

from curator_core.errors import CuratorError, PipelineError
from curator_core.model.crash_attribution import Blame
from curator_core.model.records import StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan

_LENGTH = Struct("!Q")
_AT_ONCE = 1 << 20


def send_frame(handle: int, message: bytes) -> None:
    """Send a message, and block until all of it is sent."""
    for part in (_LENGTH.pack(len(message)), message):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(handle, rest) :]


class Frames:
    """The parent's end of a pipe: reads messages without blocking."""

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=os.dup(handle))
        self._expect(_LENGTH.size, is_length=True)

    def take(self) -> bytearray | None:
        """Return the next message, or None if it is incomplete; raise EOFError at the end."""
        while self._fill():
            whole, was_length = self._room, self._is_length
            if was_length:
                self._expect(*_LENGTH.unpack(whole), is_length=False)
            else:
                self._expect(_LENGTH.size, is_length=True)
                return whole
        return None

    def discard(self) -> None:
        """Read and discard all available data; raise EOFError at the end."""
        try:
            while self._socket.recv(_AT_ONCE, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            return
        raise EOFError

    def close(self) -> None:
        self._socket.close()

    def _expect(self, size: int, *, is_length: bool) -> None:
        self._room = bytearray(size)
        self._filled = 0
        self._is_length = is_length

    def _fill(self) -> bool:
        """Read into the buffer; return whether it is full."""
        while self._filled < len(self._room):
            rest = memoryview(self._room)[self._filled :]
            try:
                count = self._socket.recv_into(rest, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            if not count:
                raise EOFError
            self._filled += count
        return True


@dataclass(frozen=True)
class Begin:
    """The first message about a plan."""

    plan: Plan
    stage_indices: tuple[int, ...]
    info: WorkerInfo


@dataclass(frozen=True)
class PrepareNode:
    """Run `setup_on_node` for every stage."""


@dataclass(frozen=True)
class SetUp:
    """Set up every stage."""


@dataclass(frozen=True)
class Work:
    """Run all stages on one source."""

    source: AnyTask
    blame: Blame


@dataclass(frozen=True)
class EndPlan:
    """Tear down, and wait for another plan."""


@dataclass(frozen=True)
class End:
    """Tear down and exit."""


@dataclass(frozen=True)
class Prepared:
    """The node is prepared."""


@dataclass(frozen=True)
class Ready:
    """Every stage is set up."""


@dataclass(frozen=True)
class Outputs:
    """Outputs of the current source, with the counts so far or, at its end, the report."""

    outputs: list[AnyTask]
    report: CallReport | None = None
    counts: dict[int, StageCounts] | None = None


@dataclass(frozen=True)
class Idle:
    """The plan is over, and the worker waits for another one."""


@dataclass(frozen=True)
class Failed:
    """A stage failed, and its policy is to end the run."""

    error: CuratorError


def pack(message: Any) -> bytes:
    dumped: bytes = cloudpickle.dumps(message, protocol=5)
    return dumped


def send(connection: Connection, message: Any) -> None:
    connection.send_bytes(pack(message))


def receive(connection: Connection) -> Any:
    return unpack(connection.recv_bytes())


def unpack(raw: bytes | bytearray) -> Any:
    return cloudpickle.loads(raw)


def pack_work(work: Work) -> bytes:
    try:
        return pack(work)
    except Exception as error:
        raise PipelineError(
            f"task {work.source.task_id} ({type(work.source).__name__}) cannot be sent to a worker "
            f"process, because it cannot be pickled ({error}); use tasks of plain data, or run "
            "with LocalExecutor(workers=0)"
        ) from error


def pack_plan(plan: Plan, stage_indices: Iterable[int], info: WorkerInfo) -> bytes:
    """Pickle the first message; an error names the stage and attribute that cannot be pickled."""
    try:
        return _dump(Begin(plan, tuple(stage_indices), info))
    except Exception as error:
        raise PipelineError(
            _name_unpicklable(plan) or f"the pipeline cannot be sent: {error}"
        ) from error


def _name_unpicklable(plan: Plan) -> str | None:
    for planned in plan.stages:
        for name, value in vars(planned.stage).items():
            try:
                _dump(value)
            except Exception as error:  # noqa: BLE001 - any object may be unpicklable
                return (
                    f"stage {planned.name!r} cannot be sent to a worker process: its attribute "
                    f"{name!r} is a {type(value).__name__}, which cannot be pickled ({error}); "
                    "make it in setup(), or run with LocalExecutor(workers=0)"
                )
    return None


def _dump(value: Any) -> bytes:
    buffer = io.BytesIO()
    cloudpickle.dump(value, buffer, protocol=5)
    return buffer.getvalue()
