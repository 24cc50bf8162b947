"""`curate video.report`: a page with filmstrips of a run's clips."""

import click
from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--output", help="Where the page goes; into the run directory unless given.")
@speaks
def report(screen: Screen, run: str, output: str | None) -> None:
    """Show the clips of RUN: timelines of videos, filmstrips of what was kept and dropped."""
    from curator_core.cli.runs import find_run

    from curator_video.reporting.pages import write_clips

    where = write_clips(find_run(run), output)
    screen.give({"report": where})
    if not screen.as_json:
        screen.say(f"report: {where}")
