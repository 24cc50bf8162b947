"""Exits: fail the task if a stage exits its process, or if a process that it forked escapes."""

import mmap
import os
import signal
import sys
import traceback
from contextlib import suppress
from itertools import count
from struct import Struct
from types import TracebackType
from typing import NoReturn

_HEAD = Struct("<QI")
"""Number of the call that a forked process left, and length of the text that says how."""

_NUMBERS = count(1)
_SHARED_MEMORY: dict[int, mmap.mmap] = {}
"""Memory shared with forked processes, where they record how they left."""


class ExitedError(Exception):
    """A stage tried to exit its process, or a process that it forked left the stage's code."""


class InterruptHandler:
    """A SIGINT handler that raises KeyboardInterrupt only after a run was asked to stop."""

    @property
    def interrupts(self) -> bool:
        """Whether it raises KeyboardInterrupt now."""
        raise NotImplementedError


class StageCode:
    """Run a stage's code in a `with` block; an attempt to exit the process fails the stage.

    A process forked by the stage exits where it would leave the block, so that it does not continue
    as a second worker. The block then fails in the parent process.
    """

    def __enter__(self) -> None:
        self._process = os.getpid()
        self._memory = _SHARED_MEMORY.get(self._process) or _share_memory(self._process)
        self._number = next(_NUMBERS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if os.getpid() != self._process:
            _exit_child(self._memory, self._number, error)
        if isinstance(error, SystemExit):
            raise ExitedError(f"the stage called sys.exit({error.code!r})") from error
        if isinstance(error, KeyboardInterrupt) and not _is_ctrl_c():
            raise ExitedError("the stage raised KeyboardInterrupt") from error
        if error is None and (how := _how_child_left(self._memory, self._number)):
            raise ExitedError(
                f"a process that the stage forked {how}; end such a process with os._exit(), or "
                "use multiprocessing or subprocess"
            )


def _is_ctrl_c() -> bool:
    """Return whether a KeyboardInterrupt may have come from outside the stage."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, InterruptHandler):
        return handler.interrupts
    return handler is not signal.SIG_IGN


def _share_memory(process: int) -> mmap.mmap:
    """Create memory shared with processes that this one forks; other processes have their own."""
    _SHARED_MEMORY.clear()
    memory = _SHARED_MEMORY[process] = mmap.mmap(-1, mmap.PAGESIZE)
    return memory


def _exit_child(memory: mmap.mmap, number: int, error: BaseException | None) -> NoReturn:
    """Exit this process as Python would, but skip everything that belongs to its parent."""
    code, how = 1, "returned from it"
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        how = f"left it by sys.exit({error.code!r})"
    elif error is not None:
        how = f"left it by {type(error).__name__}"
        with suppress(Exception):
            traceback.print_exception(error)
    text = how.encode()[: mmap.PAGESIZE - _HEAD.size]
    memory[_HEAD.size : _HEAD.size + len(text)] = text
    _HEAD.pack_into(memory, 0, number, len(text))
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code & 0xFF)


def _how_child_left(memory: mmap.mmap, number: int) -> str:
    """Return how a forked process left this call, or an empty string if none did."""
    left, length = _HEAD.unpack_from(memory)
    if left != number:
        return ""
    return bytes(memory[_HEAD.size : _HEAD.size + length]).decode(errors="replace")
