"""Progress on a terminal: a table that is redrawn in place."""

import atexit
import os
import sys
from typing import TYPE_CHECKING

from curator_core import Observer, RunInfo
from curator_core.model.formatting import counted, duration, rate
from curator_core.model.progress import Meter, Progress
from curator_core.model.snapshot import RunSnapshot
from curator_core.run.observers import VARIABLE
from curator_core.run.progress_log import (
    ProgressLog,
    closing_line,
    sources_done,
    time_left,
    write_line,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

REFRESH_S = 0.25
WIDE = 72
"""On narrower terminals, rates and queues are left out."""

SHOWN_AFTER_S = 0.5
"""Shorter runs show no table."""


class TerminalProgress(Observer):
    """Shows one run as a live table. Nothing is shown if another run has the terminal.

    `closing_line` leaves the last state on the terminal; otherwise, the table disappears.
    """

    _is_taken = False

    def __init__(self, *, closing_line: bool = True) -> None:
        self._has_closing_line = closing_line
        self._has_terminal = False
        self._meter = Meter()
        self._live: Live | None = None
        self._next = SHOWN_AFTER_S

    @property
    def claims_terminal(self) -> bool:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        is_free = not TerminalProgress._is_taken or self._has_terminal
        return is_terminal and os.environ.get("TERM") != "dumb" and is_free

    def prepare(self) -> None:
        self._has_terminal = self.claims_terminal
        TerminalProgress._is_taken |= self._has_terminal

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        if not self._has_terminal:
            return
        progress = self._meter.read(snapshot)
        if snapshot.status != "running":
            self._show_end(progress, has_line=self._has_closing_line and snapshot.done > 0)
            self._meter, self._next = Meter(), SHOWN_AFTER_S  # a retry has several parts
        elif snapshot.seconds >= self._next:
            self._next = snapshot.seconds + REFRESH_S
            self._show(progress)

    def close(self) -> None:
        if self._live is not None:  # the run ended without a last snapshot
            self._stop(self._live)
        if self._has_terminal:
            TerminalProgress._is_taken = self._has_terminal = False

    def _show(self, progress: Progress) -> None:
        if self._live is None:
            self._live = _start_live()
            atexit.register(self._live.stop)  # otherwise the cursor could stay hidden
        self._live.update(_render_to_fit(progress, self._live), refresh=True)

    def _show_end(self, progress: Progress, *, has_line: bool) -> None:
        if self._live is None:
            if has_line:
                write_line(closing_line(progress))
            return
        self._live.transient = not has_line
        self._live.update(_render_to_fit(progress, self._live), refresh=True)
        self._stop(self._live)

    def _stop(self, live: "Live") -> None:
        self._live = None
        atexit.unregister(live.stop)
        live.stop()


def transient_progress() -> list[Observer]:
    """Return observers that show progress, and leave no line at the end: for `observers=`.

    Pass `progress=False` as well, so that no other observer shows progress.
    """
    if os.environ.get(VARIABLE) == "0":
        return []
    display = TerminalProgress(closing_line=False)
    return [display if display.claims_terminal else ProgressLog(closing_line=False)]


def _start_live() -> "Live":
    from rich.live import Live

    from curator_report.tables import console

    # On a terminal, printed lines appear above the table; output to a file is left alone.
    live = Live(
        console=console(stderr=True), auto_refresh=False, redirect_stdout=sys.stdout.isatty()
    )
    live.start()
    return live


def _render_to_fit(progress: Progress, live: "Live") -> "RenderableType":
    return drawn(progress, live.console.height, live.console.width)


def drawn(progress: Progress, height: int, width: int = WIDE) -> "RenderableType":
    """Return the table, with the progress of the whole run below it."""
    from rich.console import Group
    from rich.text import Text

    table = _table(progress, max(3, height - 5), is_wide=width >= WIDE)
    return Group(table, Text(_footer(progress), style="bold"))


def _table(progress: Progress, most_rows: int, *, is_wide: bool) -> "Table":
    from rich.text import Text

    from curator_report.tables import figures_of, number, plain_table, shown_columns

    columns = shown_columns((stage.counts for stage in progress.stages), has_bytes=False)
    speed = ("rate", "queue") if is_wide else ()
    table = plain_table("stage", *columns, *speed, numbers=(*columns, *speed))
    table.columns[0].no_wrap = False  # this column shrinks on a narrow terminal
    for stage in progress.stages[:most_rows]:
        shown = [Text(rate(stage.rate)), number(stage.waiting)] if is_wide else []
        name = Text(stage.name, no_wrap=True, overflow="ellipsis")
        table.add_row(name, *figures_of(stage.counts, columns), *shown)
    hidden = len(progress.stages) - most_rows
    if hidden > 0:
        table.add_row(Text(f"… {counted(hidden, 'more stage')}", style="dim", no_wrap=True))
    return table


def _footer(progress: Progress) -> str:
    parts = [
        sources_done(progress),
        duration(progress.seconds),
        rate(progress.rate),
        time_left(progress),
    ]
    if progress.restarts:
        parts.append(f"{counted(progress.restarts, 'worker')} replaced")
    if progress.is_stopping:
        parts.append("stopping after the work in progress; press Ctrl-C again to stop at once")
    return f"{progress.name}: " + " · ".join(part for part in parts if part)
