"""Progress displays: a live table on a terminal, an occasional line elsewhere."""

import atexit
import logging
import sys
from typing import TYPE_CHECKING, Protocol

from curator_core.logs import log, visible
from curator_core.progress.counting import Progress
from curator_core.reporting.figures import count, counted, duration, rate

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

LOG = log()

HEARTBEAT_S = 30.0
REFRESH_S = 0.25
WIDE = 72
"""On narrower terminals, rates and queues are left out."""

SHOWN_AFTER_S = 0.5
"""Shorter runs show no table."""


class Display(Protocol):
    """Shows the progress of one run. `every` is the interval of updates in seconds."""

    every: float

    def update(self, progress: Progress) -> None: ...

    def close(self, progress: Progress, *, with_line: bool) -> None: ...


class Heartbeat:
    """A line every 30 seconds, in the log or, if logging is not set up, on stderr."""

    every = HEARTBEAT_S

    def __init__(self) -> None:
        self._has_told = False

    def update(self, progress: Progress) -> None:
        self._has_told = True
        _tell(heartbeat(progress))

    def close(self, progress: Progress, *, with_line: bool) -> None:
        if not with_line:
            return
        if failed_in(progress):  # scripts without logging see only this warning
            LOG.warning(closing(progress))
        elif self._has_told:
            _tell(closing(progress))
        else:
            LOG.info(closing(progress))


class LiveTable:
    """A table that is redrawn in place."""

    every = REFRESH_S

    def __init__(self) -> None:
        self._live: Live | None = None

    def update(self, progress: Progress) -> None:
        if self._live is None:
            self._live = _started()
            atexit.register(self._live.stop)  # otherwise the cursor could stay hidden
        self._live.update(_fitting(progress, self._live), refresh=True)

    def close(self, progress: Progress, *, with_line: bool) -> None:
        if self._live is None:
            if with_line:
                _write(closing(progress))
            return
        live, self._live = self._live, None
        atexit.unregister(live.stop)
        live.transient = not with_line
        live.update(_fitting(progress, live), refresh=True)
        live.stop()


def _started() -> "Live":
    from rich.live import Live

    from curator_core.reporting.tables import console

    # On a terminal, printed lines appear above the table; output to a file is left alone.
    live = Live(
        console=console(stderr=True), auto_refresh=False, redirect_stdout=sys.stdout.isatty()
    )
    live.start()
    return live


def heartbeat(progress: Progress) -> str:
    """Return `web_clean: 12 of 200 sources, 3.4/s, about 1 min left; 10,000 read, …`."""
    parts = [_sources(progress)]
    if progress.rate:
        parts.append(rate(progress.rate))
    parts.append(_left(progress) or f"{duration(progress.seconds)} so far")
    return f"{progress.name}: {', '.join(parts)}; {_items(progress)}"


def closing(progress: Progress) -> str:
    """Return `web_clean: 200 sources in 1 min 2 s; 10,000 read, …`."""
    sources = counted(progress.done, "source")
    return f"{progress.name}: {sources} in {duration(progress.seconds)}; {_items(progress)}"


def _fitting(progress: Progress, live: "Live") -> "RenderableType":
    return drawn(progress, live.console.height, live.console.width)


def drawn(progress: Progress, height: int, width: int = WIDE) -> "RenderableType":
    """Return the table, with the progress of the whole run below it."""
    from rich.console import Group
    from rich.text import Text

    table = _table(progress, max(3, height - 5), is_wide=width >= WIDE)
    return Group(table, Text(_footer(progress), style="bold"))


def _table(progress: Progress, most_rows: int, *, is_wide: bool) -> "Table":
    from rich.text import Text

    from curator_core.reporting.tables import figures_of, number, plain_table

    columns = ("in", "out", "dropped", "failed", *(("rate", "queue") if is_wide else ()))
    table = plain_table("stage", *columns, numbers=columns)
    table.columns[0].no_wrap = False  # this column shrinks if there is no room
    for stage in progress.stages[:most_rows]:
        speed = [Text(rate(stage.rate)), number(stage.waiting)] if is_wide else []
        name = Text(stage.name, no_wrap=True, overflow="ellipsis")
        table.add_row(name, *figures_of(stage.counts), *speed)
    hidden = len(progress.stages) - most_rows
    if hidden > 0:
        table.add_row(Text(f"… {counted(hidden, 'more stage')}", style="dim", no_wrap=True))
    return table


def _footer(progress: Progress) -> str:
    parts = [_sources(progress), duration(progress.seconds), rate(progress.rate), _left(progress)]
    if progress.restarts:
        parts.append(f"{counted(progress.restarts, 'worker')} replaced")
    if progress.is_stopping:
        parts.append("stopping: what is under way is finished, Ctrl-C again breaks it off")
    return f"{progress.name}: " + " · ".join(part for part in parts if part)


def _sources(progress: Progress) -> str:
    if progress.total is not None:
        return f"{count(progress.done)} of {counted(progress.total, 'source')}"
    at_work = f", {count(progress.open)} under way" if progress.open else ""
    return f"{counted(progress.done, 'source')} done{at_work}"


def _left(progress: Progress) -> str:
    left = progress.seconds_left
    return f"about {duration(left)} left" if left else ""


def _items(progress: Progress) -> str:
    """Return how many records were read, dropped, failed, and written or returned."""
    counts = [stage.counts for stage in progress.stages]
    if not counts:
        return "nothing yet"
    dropped = sum(c.items_dropped for c in counts)
    failed = failed_in(progress)
    read = max(counts[0].items_in, counts[0].items_out)  # a reader takes files and returns records
    told = f"{count(read)} read, {count(dropped)} dropped, {count(failed)} failed"
    if progress.stages[-1].writes:
        last = counts[-1]
        return f"{told}, {count(last.items_in - last.items_failed - last.items_rejected)} written"
    return f"{told}, {count(counts[-1].items_out)} given"


def failed_in(progress: Progress) -> int:
    """Return how many records failed in all stages."""
    return sum(s.counts.items_failed + s.counts.items_rejected for s in progress.stages)


def _tell(line: str) -> None:
    if LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers():
        LOG.info(line)
    else:
        _write(line)


def _write(line: str) -> None:
    sys.stderr.write(f"{visible(line)}\n")
    sys.stderr.flush()
