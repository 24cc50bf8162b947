"""The command `curate video.report`: a page with filmstrips of a run's clips."""

import click
from curator_cli.options import with_output
from curator_cli.output import Screen


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--output", help="File to write. A file in the run directory by default.")
@with_output
def report(screen: Screen, run: str, output: str | None) -> None:
    """Show the clips of RUN: timelines of videos, filmstrips of kept and dropped clips."""
    from curator_cli.run_directories import find_run

    from curator_video.report.page import write_clips

    path = write_clips(find_run(run), output)
    screen.print_json({"report": path})
    if not screen.as_json:
        screen.print_line(f"report: {path}")
