"""Shared status: what a worker is doing, readable by its parent after its death."""

import mmap
import os
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from curator_core.errors import AbortedError
from curator_core.io.atomic_write import explain_write_errors
from curator_core.model.tasks import AnyTask

_SIZE = 1 << 16
_FLAG_STOP, _FLAG_WORK = 0, 1
"""The parent writes the first byte, the worker the second, so neither overwrites the other."""

_FLAGS = 2
_HEAD = struct.Struct("<iddI?")  # stage, since, limit, bytes, complete
_IDS = _FLAGS + _HEAD.size
NO_LIMIT = -1.0


@dataclass(frozen=True)
class StageStatus:
    """A worker's current stage, its tasks, and when it entered the stage."""

    stage_index: int
    task_ids: list[str]
    since: float
    limit_s: float
    complete: bool

    def is_overdue(self, now: float) -> bool:
        """Whether the time limit has passed.

        Take `now` before reading the note, so that a delay of the reader does not count.
        """
        return self.limit_s >= 0 and now - self.since > self.limit_s

    @property
    def kill_reason(self) -> str:
        """The reason given for a worker that is killed because of this note."""
        is_set_up = self.complete and not self.task_ids
        name = "setup_timeout_s" if is_set_up else "timeout_s"
        return f"took longer than its {name} of {self.limit_s:g} s"


class SharedStatus:
    """The shared memory. The worker writes notes; the parent reads them and may request a stop."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._memory = mmap.mmap(handle, _SIZE)

    @classmethod
    def create(cls) -> "SharedStatus":
        if hasattr(os, "memfd_create"):
            handle = os.memfd_create("curator-board")
        else:
            handle, path = tempfile.mkstemp()
            os.unlink(path)
        with explain_write_errors("the memory that is shared with a worker"):
            os.ftruncate(handle, _SIZE)
        return cls(handle)

    def close(self) -> None:
        self._memory.close()
        os.close(self.handle)

    # The parent's side

    def request_stop(self) -> None:
        self._memory[_FLAG_STOP] = 1

    def reset(self) -> None:
        """Forget everything. The worker has to be idle."""
        self._memory[:_FLAGS] = bytes(_FLAGS)

    def note(self) -> StageStatus | None:
        """Return what the worker is doing, or None if no stage code is running."""
        if not self._memory[_FLAG_WORK]:
            return None
        stage, since, limit, length, complete = _HEAD.unpack_from(self._memory, _FLAGS)
        raw = bytes(self._memory[_IDS : _IDS + length]).decode()
        return StageStatus(stage, raw.split("\n") if raw else [], since, limit, complete)

    # The worker's side: a `Watch`

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        if self._memory[_FLAG_STOP]:
            raise AbortedError
        ids = "\n".join([task.task_id for task in tasks]).encode()
        complete = len(ids) <= _SIZE - _IDS
        if not complete:
            ids = b""
        limit = NO_LIMIT if timeout_s is None else timeout_s
        self._memory[_IDS : _IDS + len(ids)] = ids
        now = time.monotonic()
        _HEAD.pack_into(self._memory, _FLAGS, stage_index, now, limit, len(ids), complete)
        self._memory[_FLAG_WORK] = 1

    def end(self) -> None:
        self._memory[_FLAG_WORK] = 0
