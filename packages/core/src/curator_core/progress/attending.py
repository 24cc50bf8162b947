"""Progress of a run: updates its display often enough, and never disturbs the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curator_core.logs import log
from curator_core.model.snapshot import Pulse
from curator_core.progress.counting import Meter, Progress
from curator_core.progress.displays import SHOWN_AFTER_S, Display, Heartbeat, LiveTable

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun

LOG = log()
VARIABLE = "CURATOR_PROGRESS"


@dataclass(frozen=True)
class Manner:
    """How progress is shown: whether at all, and whether a line remains at the end."""

    shown: bool = True
    with_line: bool = True


_MANNER: ContextVar[Manner] = ContextVar("manner")


@contextmanager
def manner(chosen: Manner) -> Iterator[None]:
    """Show the progress of runs that start in this block in another way."""
    token = _MANNER.set(chosen)
    try:
        yield
    finally:
        _MANNER.reset(token)


def attach(run: ActiveRun) -> Attendance | None:
    """Show the progress of `run` until it ends. Close the result, however the run ends.

    CURATOR_PROGRESS=0 turns this off.
    """
    chosen = _MANNER.get(Manner())
    if not chosen.shown or os.environ.get(VARIABLE) == "0":
        return None
    attendance = Attendance(_display(), with_line=chosen.with_line)
    run.events.listen(attendance.hear, "pulse")
    return attendance


class Attendance:
    """The display of one run's progress."""

    terminal_is_taken = False

    def __init__(
        self,
        display: Display,
        *,
        with_line: bool = True,
    ) -> None:
        self.display = display
        self._with_line = with_line
        self._meter = Meter()
        self._progress: Progress | None = None
        self._done = 0
        self._next = max(display.every, SHOWN_AFTER_S)
        self._is_open = True
        self._holds_terminal = isinstance(display, LiveTable)
        if self._holds_terminal:
            Attendance.terminal_is_taken = True

    def hear(self, event: dict[str, Any]) -> None:
        """Handle a pulse of the run."""
        if not self._is_open:
            return
        pulse: Pulse = event["pulse"]
        progress = self._progress = self._meter.read(pulse)
        self._done = pulse.done  # in this execution, not in earlier ones
        if pulse.status != "running":
            self.close()
        elif pulse.seconds >= self._next:
            self._next = pulse.seconds + self.display.every
            self._harmlessly(lambda: self.display.update(progress))

    def close(self) -> None:
        """Restore the terminal. Safe to call twice."""
        if not self._is_open:
            return
        self._is_open = False
        last = self._progress or Progress("", 0.0, 0, 0)
        with_line = self._with_line and self._done > 0
        self._harmlessly(lambda: self.display.close(last, with_line=with_line))
        if self._holds_terminal:
            Attendance.terminal_is_taken = False

    def _harmlessly(self, show: Callable[[], None]) -> None:
        """Call `show`; a broken terminal must not end a long run."""
        try:
            show()
        except Exception as error:  # noqa: BLE001 - the display must not harm the run
            self._is_open = False
            LOG.debug("progress is no longer shown: %s", error)


def _display() -> Display:
    """Choose the display: a terminal can show only one live table at a time."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if is_terminal and os.environ.get("TERM") != "dumb" and not Attendance.terminal_is_taken:
        return LiveTable()
    return Heartbeat()
