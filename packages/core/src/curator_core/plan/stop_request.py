"""A request to stop a run: its reason, signal and time."""

import signal
import time

DRAIN_S = 10.0
"""Seconds that unfinished work may take after a run was asked to stop."""


DRAIN_AFTER_SIGTERM_S = 4.0
"""The same after SIGTERM, which is often followed by SIGKILL after 10 s. Workers must end first."""


class StopRequest:
    """Whether a run has been asked to stop, since when, and by which signal."""

    def __init__(self) -> None:
        self.signal_number = 0
        self.reason = ""
        self._since: float | None = None

    def request(self, reason: str, signal_number: int = 0) -> None:
        if self._since is None:
            self._since = time.monotonic()
            self.reason = reason
            self.signal_number = signal_number

    @property
    def is_requested(self) -> bool:
        return self._since is not None

    @property
    def drain_s(self) -> float:
        """Seconds that unfinished work may take."""
        return DRAIN_AFTER_SIGTERM_S if self.signal_number == signal.SIGTERM else DRAIN_S

    @property
    def is_overdue(self) -> bool:
        """Whether the drain time is over, so that unfinished work is aborted."""
        return self._since is not None and time.monotonic() - self._since > self.drain_s
