"""A request to stop a run: by which signal, and since when."""

import signal
import time

DRAIN_S = 10.0
"""How long work under way may take to finish once a run was asked to stop."""


DRAIN_AFTER_SIGTERM_S = 4.0
"""The same after SIGTERM: many who send it send SIGKILL 10 s later, and workers must end first."""


class StopRequest:
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
    def drain_s(self) -> float:
        """How long work under way may take to finish."""
        return DRAIN_AFTER_SIGTERM_S if self.signal_number == signal.SIGTERM else DRAIN_S

    @property
    def is_overdue(self) -> bool:
        """Whether work under way has had its time, and is to be broken off."""
        return self._since is not None and time.monotonic() - self._since > self.drain_s
