"""`curate audio.report`: a page to look at and listen to, about a run of recordings."""

import click
from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--output", help="Where the page goes; into the run directory unless given.")
@speaks
def report(screen: Screen, run: str, output: str | None) -> None:
    """Show what each rule of RUN kept and dropped: hours, histograms, sounds with their speech."""
    from curator_core.cli.runs import find_run

    from curator_audio.reporting.pages import write_page

    where = write_page(find_run(run), output)
    screen.give({"report": where})
    if not screen.as_json:
        screen.say(f"report: {where}")
