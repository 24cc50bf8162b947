"""Warns of a run that makes no progress, and ends it if a limit is set."""

import logging
import time
from collections.abc import Callable, Sequence

from curator_core import PlannedStage
from curator_core.errors import StageError
from curator_core.local.shared_status import StageStatus

LOG = logging.getLogger("curator_core")

WARN_AFTER_S = 1800.0
_POLLS_PER_LIMIT = 20
_MAX_POLL_S = 30.0

Statuses = dict[str, StageStatus | None]


class StallWatch:
    """A run makes progress when its job gives a block, or a worker enters another call."""

    def __init__(
        self,
        stages: Sequence[PlannedStage],
        read_statuses: Callable[[], Statuses],
        timeout_s: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read_statuses` returns what each worker is doing."""
        self._names = {planned.index: planned.name for planned in stages}
        self._read_statuses = read_statuses
        self._timeout_s = timeout_s
        self._clock = clock
        self._poll_s = min(_MAX_POLL_S, (timeout_s or WARN_AFTER_S) / _POLLS_PER_LIMIT)
        self._statuses: Statuses = {}
        self.record_progress()

    def record_progress(self) -> None:
        self._since = self._clock()
        self._next_poll = self._since + self._poll_s
        self._has_warned = False

    def poll(self) -> None:
        """Call this regularly. Raises when `timeout_s` has passed without progress."""
        now = self._clock()
        if now < self._next_poll:
            return
        statuses = self._read_statuses()
        if statuses != self._statuses:
            self._statuses = statuses
            self.record_progress()
            return
        self._next_poll = now + self._poll_s
        seconds = now - self._since
        if self._timeout_s is not None and seconds >= self._timeout_s:
            raise StageError(
                f"no progress for {seconds:.0f} s (stall_timeout is {self._timeout_s:g}): "
                f"{self._describe()}; finished sources are kept, run it again to resume"
            )
        if seconds >= WARN_AFTER_S and not self._has_warned:
            self._has_warned = True
            LOG.warning("ray_data: no progress for %.0f min: %s", seconds / 60, self._describe())

    def _describe(self) -> str:
        busy = [
            f"stage {self._names[status.stage_index]!r} in worker {worker_id}"
            for worker_id, status in sorted(self._statuses.items())
            if status is not None
        ]
        if not busy:
            return "no worker has work; Ray Data may be waiting for CPUs that others hold"
        more = f" and {len(busy) - 5} more" if len(busy) > 5 else ""
        return f"at work: {', '.join(busy[:5])}{more}"
