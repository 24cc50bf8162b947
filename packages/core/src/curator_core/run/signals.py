"""Signals: the first Ctrl-C or SIGTERM stops a run gracefully, the second immediately."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from curator_core.errors import RunInterrupted
from curator_core.execution.exit_guard import InterruptHandler
from curator_core.logs import log
from curator_core.plan.stop_request import StopRequest

LOG = log()


@contextmanager
def stop_on_signals(stopping: StopRequest) -> Iterator[None]:
    """Request a stop on SIGINT and SIGTERM. Only the main thread can handle signals."""
    if not _is_main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: _StopHandler(stopping, signal.getsignal(number)) for number in numbers}
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            handler.end(number)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _StopHandler(InterruptHandler):
    """The first signal requests a stop, the second one interrupts running work.

    Runs that are streamed can end in any order and in any thread. So a handler whose run is over
    may still be in place, or may be what another one has to restore: then the one before it counts.
    """

    def __init__(self, stopping: StopRequest, before: Any) -> None:
        self._stopping = stopping
        self._before = before
        self.is_over = False

    @property
    def interrupts(self) -> bool:
        return self.is_over or self._stopping.is_requested

    def end(self, number: int) -> None:
        """Restore the handler before this one, unless that of another run is in place."""
        self.is_over = True
        current: Any = signal.getsignal(number)
        if current is self and _is_main_thread():
            signal.signal(number, self.outer)

    @property
    def outer(self) -> Any:
        """The handler before this one whose run, if any, is not over."""
        before = self._before
        return before.outer if isinstance(before, _StopHandler) and before.is_over else before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_over:
            signal.signal(number, self.outer)
            signal.raise_signal(number)
            return
        if isinstance(self._before, _NotingHandler):
            self._before.note(number)
        if self._stopping.is_requested:
            raise KeyboardInterrupt
        self._stopping.request(signal.Signals(number).name, number)
        # In another thread: this one may be in the middle of writing a log line.
        drain_s = self._stopping.drain_s
        threading.Thread(
            target=_log_stopping, args=(drain_s,), name="curator-stopping", daemon=True
        ).start()


class _NotingHandler:
    """Requests a stop and calls the previous handler."""

    def __init__(
        self, stopping: StopRequest, before: Callable[[int, FrameType | None], Any]
    ) -> None:
        self._stopping = stopping
        self._before = before

    def note(self, number: int) -> None:
        self._stopping.request(signal.Signals(number).name, number)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.note(number)
        self._before(number, frame)


def interrupted_error(stopping: StopRequest, what: str, kept: str | None) -> RunInterrupted:
    """Return the error of an interrupted run; `kept` says what was kept, or is None."""
    ending = (
        f"{kept}; run the same command again to resume"
        if kept
        else "; nothing is kept without a run_dir"
    )
    return RunInterrupted(what + ending, stopping.signal_number or signal.SIGINT)


@contextmanager
def note_signals(stopping: StopRequest) -> Iterator[None]:
    """Request a stop even if another handler consumes the signal.

    A signal at the end of a run stops nothing, and an exception that is raised in a destructor is
    lost. Code that runs several pipelines must therefore check `stopping` before each.
    """
    if not _is_main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number, handler in before.items():
        signal.signal(number, _NotingHandler(stopping, handler))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_stopping(drain_s: float) -> None:
    LOG.warning(
        "stopping: running work may finish within %.0f s; a second signal stops it now", drain_s
    )
