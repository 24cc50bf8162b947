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
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before: dict[int, Any] = {int(number): handler for number, handler in handlers.items()}
    for number in before:
        signal.signal(number, _StopHandler(stopping, before))
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


class _StopHandler(InterruptHandler):
    """The first signal requests a stop, the second one interrupts running work."""

    def __init__(self, stopping: StopRequest, before: dict[int, Any]) -> None:
        self._stopping = stopping
        self._before = before

    @property
    def interrupts(self) -> bool:
        return self._stopping.is_requested

    def __call__(self, number: int, frame: FrameType | None) -> None:
        outer = self._before.get(number)
        if isinstance(outer, _NotingHandler):
            outer.note(number)
        if self._stopping.is_requested:
            raise KeyboardInterrupt
        self._stopping.request(signal.Signals(number).name, number)
        # In another thread: this one may be in the middle of writing a log line.
        drain_s = self._stopping.drain_s
        threading.Thread(
            target=_log_stopping, args=(drain_s,), name="curator-telling", daemon=True
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
    if threading.current_thread() is not threading.main_thread():
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
