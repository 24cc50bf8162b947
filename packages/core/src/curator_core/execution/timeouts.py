"""Timeouts: watch stages while they run, to attribute hangs and crashes to tasks."""

import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Protocol

from curator_core.errors import TaskTimeoutError
from curator_core.model.tasks import AnyTask


class Watch(Protocol):
    """Called when a stage's code starts and ends. No tasks means setup."""

    def begin(
        self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None
    ) -> None: ...

    def end(self) -> None: ...


class NoWatch:
    """A watch that does nothing."""

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        pass

    def end(self) -> None:
        pass


class AlarmTimer:
    """Interrupt a call that takes too long, in the main thread of this process.

    Setup is not limited: the user notices if it hangs, and may use the alarm for other purposes.
    """

    def __init__(self) -> None:
        self._armed = False

    @staticmethod
    def works_here() -> bool:
        return hasattr(signal, "setitimer") and (
            threading.current_thread() is threading.main_thread()
        )

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        if timeout_s is not None and tasks:
            self._limit = timeout_s
            signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, timeout_s)
            self._armed = True

    def end(self) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._armed = False

    def _ring(self, number: int, frame: FrameType | None) -> None:
        raise TaskTimeoutError(f"took longer than its timeout_s of {self._limit} s")
