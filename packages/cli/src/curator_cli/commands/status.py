"""`curate status`: how far a run is, from any terminal or machine."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from curator_core.model.formatting import count, duration
from curator_core.model.snapshot import RunSnapshot
from curator_core.run.snapshot import REMOTE_EVERY_S, read_latest
from curator_report.run_record import state_of

from curator_cli.options import with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core.model.progress import Progress
    from curator_report.run_record import RunRecord
    from rich.console import RenderableType

LOOK_EVERY_S = 1.0
SILENCE_S = 3 * REMOTE_EVERY_S
"""After this long without news, the display says so."""


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--watch", is_flag=True, help="Update every second until the run ends.")
@with_output
def status(screen: Screen, run: str | None, watch: bool) -> None:
    """Show the progress of a run, from any terminal.

    RUN is a run directory, or the output folder of a run; by default, the newest run in the
    current folder. With --watch, the exit code is 1 if the run ends before it is done.
    """
    from curator_report.run_record import read_run

    from curator_cli.run_directories import find_run_or_newest

    run_dir = find_run_or_newest(run)
    if watch:
        if _watch(screen, run_dir) not in ("done", "running"):
            raise click.exceptions.Exit(1)
        return
    record = read_run(run_dir)
    screen.print_json(record.to_json())
    screen.show(_draw_record(record))


def _watch(screen: Screen, run_dir: str) -> str:
    """Follow the run and return its state at the end.

    A terminal is redrawn in place; otherwise text or JSON is printed line by line.
    """
    from curator_report.run_record import read_run
    from rich.live import Live

    if screen.as_json or not screen.console.is_terminal:
        text = ""
        for update in updates(run_dir):
            if update is not None:
                screen.print_json_line(update.to_json())
                if update.line() != text:  # a run far away reports rarely: do not repeat lines
                    screen.print_line(text := update.line())
        record = read_run(run_dir)
        screen.print_json_line(record.to_json())
        screen.print_line(_headline(record))
        return record.state
    # Ctrl-C stops watching; the run continues.
    with suppress(KeyboardInterrupt), Live(console=screen.console, auto_refresh=False) as live:
        for update in updates(run_dir):
            size = screen.console.size
            shown = update.draw(size.height, size.width) if update else "the run has just started"
            live.update(shown, refresh=True)
        record = read_run(run_dir)
        live.update(_draw_record(record), refresh=True)
        return record.state
    return "running"


def _headline(record: "RunRecord") -> str:
    """`web_clean is running: 12 of 200 sources done, 3.4/s, last progress 2 s ago`."""
    from curator_core.model.formatting import duration, rate

    parts = [record.done, rate(record.rate)]
    if record.state == "running" and record.last_progress is not None:
        parts.append(f"last progress {duration(time.time() - record.last_progress)} ago")
    elif record.result.seconds:
        parts.append(f"in {duration(record.result.seconds)}")
    text = ", ".join(part for part in parts if part)
    return f"{record.name} {_STATES.get(record.state, record.state)}: {text}"


_STATES = {
    "running": "is running",
    "done": "is done",
    "failed": "failed",
    "interrupted": "was interrupted",
    "closed": "was stopped",
    "dead": "was killed (its process no longer runs)",
}
_STYLES = {"running": "bold", "done": "bold green"}


def _draw_record(record: "RunRecord") -> "RenderableType":
    from curator_report import Summary, group_failures, stage_table
    from curator_report.summary import details
    from rich.console import Group
    from rich.text import Text

    result = record.result
    headline = Text(_headline(record), style=_STYLES.get(record.state, "bold red"))
    summary = Summary(record.name, result)
    following = [] if record.state == "running" else summary.following()
    ran_on = f"{record.facts.get('executor', '')}, Python {record.facts.get('python', '')}"
    lines = [*summary.account(), ("executor", ran_on), ("run", record.path), *following]
    table = stage_table(result.stages, group_failures(result.quarantined))
    return Group(headline, Text(), table, Text(), details(lines))


@dataclass(frozen=True)
class Update:
    """The latest report of a running run."""

    snapshot: RunSnapshot
    progress: "Progress"

    @property
    def silence(self) -> str:
        """A warning if the run has not reported, or has made no progress, for a while; else ""."""
        now = time.time()
        if now - self.snapshot.time > SILENCE_S:
            return f"no report for {duration(now - self.snapshot.time)}: is its machine still up?"
        idle = self.snapshot.time - self.snapshot.last_progress
        return f"no progress for {duration(idle)}" if idle > SILENCE_S else ""

    def line(self) -> str:
        from curator_core.run.progress_log import progress_line

        text = progress_line(self.progress)
        return f"{text} ({self.silence})" if self.silence else text

    def draw(self, height: int, width: int) -> "RenderableType":
        """Return the run's own progress table, with the states of its workers."""
        from curator_report.terminal import drawn
        from rich.console import Group
        from rich.text import Text

        states = self.snapshot.executor_state.workers
        text = [f"{count(number)} {state}" for state, number in states.items() if number]
        workers = [Text(f"workers: {', '.join(text)}")] if text else []
        silence = [Text(self.silence, style="bold yellow")] if self.silence else []
        return Group(drawn(self.progress, height - 2, width), *workers, *silence)

    def to_json(self) -> dict[str, Any]:
        snapshot = self.snapshot
        return {
            "name": snapshot.name,
            "state": "running",
            "executor": snapshot.executor,
            "seconds": round(snapshot.seconds, 3),
            "last_progress": snapshot.last_progress,
            "sources_per_second": round(self.progress.rate, 3),
            "sources_done": snapshot.done,
            "sources_skipped": snapshot.skipped,
            "sources_failed": snapshot.failed,
            "sources_under_way": snapshot.open,
            "sources_left": snapshot.left,
            "workers": dict(snapshot.executor_state.workers),
            "worker_restarts": dict(snapshot.restarts),
            "stages": {stage.name: stage.counts.to_json() for stage in snapshot.stages},
        }


def updates(run_dir: str) -> Iterator[Update | None]:
    """Yield the latest report at intervals until the run ends; None before the first report."""
    from curator_core.model.progress import Meter

    meter = Meter()
    while state_of(run_dir) == "running":
        snapshot = read_latest(run_dir)
        yield None if snapshot is None else Update(snapshot, meter.read(snapshot))
        time.sleep(LOOK_EVERY_S)
