"""`curate image report`: a page with pictures about a run that filtered them."""

import click
from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--output", help="Where the page goes; into the run directory unless given.")
@speaks
def report(screen: Screen, run: str, output: str | None) -> None:
    """Show what each filter of RUN kept and dropped: histograms, and sheets of pictures."""
    from curator_core.cli.runs import find_run

    from curator_image.reporting.filters import write_pictures

    where = write_pictures(find_run(run), output)
    screen.give({"report": where})
    if not screen.as_json:
        screen.say(f"report: {where}")
