"""Commands that write a page about a run, built alike for all packages."""

from collections.abc import Callable
from functools import wraps

import click

from curator_cli.options import with_output
from curator_cli.output import Screen
from curator_cli.run_directories import find_run_or_newest

Writing = Callable[[str, str | None], str]
"""Takes a run directory and the page's path, or None for the default; returns the path."""


def command_for_page(write: Writing) -> click.Command:
    """Build a command that writes a page about RUN and prints its path."""

    @click.command()
    @click.argument("run", metavar="[RUN]", required=False)
    @click.option("--output", help="Path of the page; by default, it is in the run directory.")
    @with_output
    @wraps(write)
    def command(screen: Screen, run: str | None, output: str | None) -> None:
        where = write(find_run_or_newest(run), output)
        screen.print_json({"report": where})
        if not screen.as_json:
            screen.print_line(f"report: {where}")

    return command
