"""Ctrl-C and SIGTERM: the first one asks a run to stop in order, the second one does not ask."""

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

LOG = logging.getLogger("curator_core")

DRAIN_S = 10.0
"""How long work under way may take to finish once a run was asked to stop."""


class Stopping:
    """Whether a run has been asked to stop, since when, and by which signal."""

    def __init__(self) -> None:
        self.signal_number = 0
        self.reason = ""
        self._since: float | None = None

    def ask(self, reason: str, signal_number: int = 0) -> None:
        if self._since is None:
            self._since = time.monotonic()
            self.reason = reason
            self.signal_number = signal_number

    @property
    def is_asked(self) -> bool:
        return self._since is not None

    @property
    def is_overdue(self) -> bool:
        """Whether work under way has had its time, and is to be broken off."""
        return self._since is not None and time.monotonic() - self._since > DRAIN_S


@contextmanager
def signals_stop(stopping: Stopping) -> Iterator[None]:
    """Ask `stopping` on SIGINT and SIGTERM, in the main thread; elsewhere nothing can be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stopping.is_asked:
            raise KeyboardInterrupt
        stopping.ask(signal.Signals(number).name, number)
        # Elsewhere: this thread may be in the middle of a line of its own.
        threading.Thread(target=_tell, name="curator-telling", daemon=True).start()

    before: dict[int, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        before[int(number)] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def _tell() -> None:
    LOG.warning(
        "stopping: what is under way may finish, for %.0f s at most; once more ends it now", DRAIN_S
    )
