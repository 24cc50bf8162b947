"""Commands that write a page about a run, built alike for all packages."""

from collections.abc import Callable
from functools import wraps

import click

from curator_core.cli.options import speaks
from curator_core.cli.runs import find_run
from curator_core.cli.screens import Screen

Writing = Callable[[str, str | None], str]
"""Takes a run directory and the page's path, or None for the default; returns the path."""


def command_for_page(write: Writing) -> click.Command:
    """Build a command that writes a page about RUN and prints its path."""

    @click.command()
    @click.argument("run", metavar="RUN")
    @click.option("--output", help="Where the page goes; into the run directory unless given.")
    @speaks
    @wraps(write)
    def command(screen: Screen, run: str, output: str | None) -> None:
        where = write(find_run(run), output)
        screen.give({"report": where})
        if not screen.as_json:
            screen.say(f"report: {where}")

    return command
