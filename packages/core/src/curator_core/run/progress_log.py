"""Progress as log lines, for runs without a display of their own."""

import logging
import sys

from curator_core.logs import log, visible
from curator_core.model.formatting import count, counted, duration, rate
from curator_core.model.progress import Meter, Progress
from curator_core.model.snapshot import RunSnapshot
from curator_core.run.observers import Observer, RunInfo

LOG = log()

INTERVAL_S = 30.0


class ProgressLog(Observer):
    """Logs a line every 30 seconds, or writes it to stderr if logging is not set up.

    `closing_line` adds a line at the end of a run that did something.
    """

    def __init__(self, *, closing_line: bool = True, interval_s: float = INTERVAL_S) -> None:
        self._has_closing_line = closing_line
        self._interval_s = self._next = interval_s
        self._meter = Meter()
        self._has_logged = False

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        progress = self._meter.read(snapshot)
        if snapshot.status != "running":
            if self._has_closing_line and snapshot.done:  # in this execution, not in earlier ones
                self._log_end(progress)
            self._meter, self._next = Meter(), self._interval_s  # a retry has several parts
        elif snapshot.seconds >= self._next:
            self._next = snapshot.seconds + self._interval_s
            self._has_logged = True
            _log_or_write(progress_line(progress))

    def _log_end(self, progress: Progress) -> None:
        if count_failed(progress):  # scripts without logging see only this warning
            LOG.warning(closing_line(progress))
        elif self._has_logged:
            _log_or_write(closing_line(progress))
        else:
            LOG.info(closing_line(progress))


def progress_line(progress: Progress) -> str:
    """Return `web_clean: 12 of 200 sources, 3.4/s, about 1 min left; 10,000 read, …`."""
    parts = [sources_done(progress)]
    if progress.rate:
        parts.append(rate(progress.rate))
    parts.append(time_left(progress) or f"{duration(progress.seconds)} so far")
    return f"{progress.name}: {', '.join(parts)}; {_items(progress)}"


def closing_line(progress: Progress) -> str:
    """Return `web_clean: 200 sources in 1 min 2 s; 10,000 read, …`."""
    sources = counted(progress.done, "source")
    return f"{progress.name}: {sources} in {duration(progress.seconds)}; {_items(progress)}"


def sources_done(progress: Progress) -> str:
    """Return `12 of 200 sources`, or `12 sources done, 2 under way` while not all are listed."""
    if progress.total is not None:
        return f"{count(progress.done)} of {counted(progress.total, 'source')}"
    at_work = f", {count(progress.open)} under way" if progress.open else ""
    return f"{counted(progress.done, 'source')} done{at_work}"


def time_left(progress: Progress) -> str:
    """Return `about 1 min left`, or "" if it is unknown."""
    left = progress.seconds_left
    return f"about {duration(left)} left" if left else ""


def _items(progress: Progress) -> str:
    """Return how many records were read, dropped, failed, and written or returned."""
    counts = [stage.counts for stage in progress.stages]
    if not counts:
        return "nothing yet"
    dropped = sum(c.items_dropped for c in counts)
    failed = count_failed(progress)
    read = max(counts[0].records_in, counts[0].records_out)
    figures = f"{count(read)} read, {count(dropped)} dropped, {count(failed)} failed"
    if progress.stages[-1].writes:
        return f"{figures}, {count(counts[-1].records_out)} written"
    return f"{figures}, {count(counts[-1].items_out)} given"


def count_failed(progress: Progress) -> int:
    """Return how many records failed in all stages."""
    return sum(s.counts.items_failed + s.counts.items_rejected for s in progress.stages)


def _log_or_write(line: str) -> None:
    if LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers():
        LOG.info(line)
    else:
        write_line(line)


def write_line(line: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"{visible(line)}\n")
    sys.stderr.flush()
