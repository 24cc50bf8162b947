"""`curate retry`: run quarantined tasks and records again."""

from typing import TYPE_CHECKING, Any

import click

from curator_cli.commands.run import RunFlags, close_run, displays, logged_run
from curator_cli.options import permitting, with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import RunResult

    from curator_cli.recipes import Permissions


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--strict", is_flag=True, help="Exit with 3 if anything is still in quarantine.")
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Retry with stages that have changed since the run.",
)
@click.option("--logs", is_flag=True, help="Show what stages print on workers of a cluster.")
@click.option("--quiet", is_flag=True, help="Only print errors.")
@permitting
@with_output
def retry(
    screen: Screen,
    run: str | None,
    accept_changes: bool,
    permissions: "Permissions",
    **options: Any,
) -> None:
    """Retry the quarantined tasks and records of a run.

    RUN is a run directory, or the output folder of a run; it may be left out if the current
    folder has only one run. Fix the cause of the failures first. Whole tasks and single
    records start at the stage in which they failed. Tasks and records that succeed are added
    to the output; the others stay in quarantine.
    """
    from curator_core.model.formatting import counted
    from curator_report.run_record import read_run

    from curator_cli.run_directories import find_only_run, pipeline_of

    run_dir = find_only_run(run)
    pipeline, executor = pipeline_of(run_dir, permissions)
    found = read_run(run_dir, in_short=True).result
    tasks, records = _retryable_in(found)
    if not tasks + records:
        screen.print_json({"name": pipeline.name, "run_dir": run_dir, "tried_again": 0})
        damaged = sum(record.items for record in found.quarantined)
        advice = (
            f"; repair the files of {counted(damaged, 'damaged record')} and run the recipe again"
            if damaged
            else ""
        )
        screen.print_line(f"{pipeline.name}: nothing in quarantine can be retried{advice}")
        return
    chosen = RunFlags(**options)
    with logged_run(chosen):
        result = pipeline.retry(
            run_dir,
            executor=executor,
            accept_changes=accept_changes,
            observers=displays(chosen),
            progress=False,
        )
    counts = [counted(n, kind) for n, kind in ((tasks, "task"), (records, "record")) if n]
    left = sum(_retryable_in(result))
    headline = f"{pipeline.name}: {' and '.join(counts)} retried, {left} still in quarantine"
    close_run(screen, pipeline.name, result, chosen, headline)


def _retryable_in(result: "RunResult") -> tuple[int, int]:
    """Count what can be retried: whole quarantined tasks, and records of other tasks."""
    found = [record for record in result.quarantined if record.can_be_retried]
    tasks = sum(record.whole_task for record in found)
    return tasks, sum(record.items for record in found if not record.whole_task)
