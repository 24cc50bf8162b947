"""Timeouts: watch a stage at work, so that a hang or a crash is attributed to its task."""

import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Protocol

from curator_core.model.tasks import AnyTask


class TaskTimeoutError(Exception):
    """A stage took longer over one call than its `timeout_s`."""


class BrokenOffError(BaseException):
    """The run is to stop and its time to drain is over. No stage may catch this."""


class Watch(Protocol):
    """Told of each entry into a stage's own code, and of each exit; without tasks, it is set up."""

    def begin(
        self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None
    ) -> None: ...

    def end(self) -> None: ...


class Unwatched:
    """Nobody looks on."""

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        pass

    def end(self) -> None:
        pass


class AlarmClock:
    """Breaks off a call that takes too long, in the main thread of this very process.

    Not what is set up: who waits for that can see it, and may use the alarm for something else.
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
