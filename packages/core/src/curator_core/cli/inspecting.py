"""`curate status` and `curate report`."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen, note
from curator_core.errors import OutputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from curator_core.reporting.directories import RunRecord


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--watch", is_flag=True, help="Look again every second, until the run ends.")
@speaks
def status(screen: Screen, run: str, watch: bool) -> None:
    """Show the progress of a run, from any terminal.

    RUN is a run directory, or the output folder of a run. With --watch, the exit code is 1 if the
    run ends before it is done.
    """
    from curator_core.cli.runs import find_run
    from curator_core.reporting.directories import read_run

    run_dir = find_run(run)
    if watch:
        if _watch(screen, run_dir) not in ("done", "running"):
            raise click.exceptions.Exit(1)
        return
    record = read_run(run_dir)
    screen.give(record.to_json())
    screen.show(_drawn(record))


def _watch(screen: Screen, run_dir: str) -> str:
    """Follow the run and return its state at the end.

    A terminal is redrawn in place; otherwise text or JSON is printed line by line.
    """
    from rich.live import Live

    from curator_core.cli.watching import looks
    from curator_core.reporting.directories import read_run

    if screen.as_json or not screen.console.is_terminal:
        told = ""
        for look in looks(run_dir):
            if look is not None:
                screen.give_line(look.to_json())
                if look.line() != told:  # a run far away reports rarely: do not repeat lines
                    screen.say(told := look.line())
        record = read_run(run_dir)
        screen.give_line(record.to_json())
        screen.say(_headline(record))
        return record.state
    # Ctrl-C stops watching; the run continues.
    with suppress(KeyboardInterrupt), Live(console=screen.console, auto_refresh=False) as live:
        for look in looks(run_dir):
            size = screen.console.size
            shown = look.drawn(size.height, size.width) if look else "the run has only just begun"
            live.update(shown, refresh=True)
        record = read_run(run_dir)
        live.update(_drawn(record), refresh=True)
        return record.state
    return "running"


def _headline(record: "RunRecord") -> str:
    """`web_clean is running: 12 of 200 sources done, 3.4/s, last progress 2 s ago`."""
    from curator_core.reporting.figures import duration, rate

    parts = [record.done, rate(record.rate)]
    if record.state == "running" and record.last_progress is not None:
        parts.append(f"last progress {duration(time.time() - record.last_progress)} ago")
    elif record.result.seconds:
        parts.append(f"in {duration(record.result.seconds)}")
    told = ", ".join(part for part in parts if part)
    return f"{record.name} {_STATES.get(record.state, record.state)}: {told}"


_STATES = {
    "running": "is running",
    "done": "is done",
    "failed": "failed",
    "interrupted": "was interrupted",
    "closed": "was stopped",
    "dead": "was killed (its process is gone)",
}
_STYLES = {"running": "bold", "done": "bold green"}


def _drawn(record: "RunRecord") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from curator_core.reporting import Summary, failures_of, stage_table
    from curator_core.reporting.summaries import details

    result = record.result
    headline = Text(_headline(record), style=_STYLES.get(record.state, "bold red"))
    summary = Summary(record.name, result)
    following = [] if record.state == "running" else summary.following()
    ran_on = f"{record.facts.get('executor', '')}, Python {record.facts.get('python', '')}"
    lines = [*summary.account(), ("executor", ran_on), ("run", record.path), *following]
    table = stage_table(result.stages, failures_of(result.quarantined))
    return Group(headline, Text(), table, Text(), details(lines))


@click.command()
@click.argument("run", metavar="RUN")
@speaks
def report(screen: Screen, run: str) -> None:
    """Show what a run did, with every drop reason, and write report.html."""
    from curator_core.cli.runs import find_run
    from curator_core.reporting import drop_reasons
    from curator_core.reporting.directories import read_run
    from curator_core.reporting.pages import write_report

    run_dir = find_run(run)
    record = read_run(run_dir)
    page = None
    try:
        page = write_report(run_dir)
    except (OSError, OutputError) as error:
        note(f"the report could not be written: {error}")
    reasons = drop_reasons(record.result.stages)
    listed = [{"stage": s, "reason": r, "items": n} for s, r, n in reasons]
    screen.give({**record.to_json(), "dropped": listed, "report": page})
    if not screen.as_json:
        _show_report(screen, record, page)


def _show_report(screen: Screen, record: "RunRecord", page: str | None) -> None:
    from rich.text import Text

    from curator_core.reporting import Summary, drop_reasons, plain_table, stage_table
    from curator_core.reporting.continuing import next_step
    from curator_core.reporting.figures import count, share
    from curator_core.reporting.pages import verdict_of
    from curator_core.reporting.reasons import came_to
    from curator_core.reporting.summaries import details

    result = record.result
    screen.show(Text(verdict_of(record), style="bold"))
    screen.say()
    screen.show(stage_table(result.stages, most_rows=None))
    screen.say()
    table = plain_table("dropped", "of what it got", "stage", "reason", numbers=("dropped",))
    table.columns[-1].no_wrap = False
    for stage, reason, items in drop_reasons(result.stages):
        part = share(items, came_to(result.stages[stage]))
        table.add_row(count(items), part, Text(stage), Text(reason))
    if table.row_count:
        screen.show(table)
        screen.say()
    summary, is_running = Summary(record.name, result, page), record.state == "running"
    following = [("next", " ".join(next_step(record)))] if is_running else summary.following()
    screen.show(details([*summary.account(), *following]))
