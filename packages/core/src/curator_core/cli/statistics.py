"""`curate statistics`: statistics of the data, from a run or a folder."""

import os
from typing import TYPE_CHECKING

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen

if TYPE_CHECKING:
    from curator_core.io.statistics.summaries import Summary


@click.command()
@click.argument("place", metavar="RUN|FOLDER")
@speaks
def statistics(screen: Screen, place: str) -> None:
    """Show statistics of data: those that RUN collected, or those in FOLDER."""
    from curator_core.io.statistics.summaries import read_summary
    from curator_core.reporting.statistics import facts_of

    summary = read_summary(_files(place))
    screen.give(facts_of(summary))
    if not screen.as_json:
        _show(screen, summary)


def _files(place: str) -> list[str]:
    from curator_core.cli.runs import find_run
    from curator_core.errors import InputError
    from curator_core.io.filesystems import join, open_filesystem
    from curator_core.io.listing import Wanted, find_files
    from curator_core.io.statistics.summaries import FILE_ENDING
    from curator_core.reporting.directories import read_run

    fs, root = open_filesystem(place)
    if fs.isdir(root) and not fs.exists(join(root, "run.json")):
        listed = [entry for entry in fs.ls(root, detail=False) if entry.endswith(FILE_ENDING)]
        if listed:
            return [part.path for part in find_files([place], Wanted((FILE_ENDING,)))]
    run = find_run(place)
    found = [path for path in read_run(run).result.files if path.endswith(FILE_ENDING)]
    if not found:
        raise InputError(
            f"run {os.path.basename(run)} collected no statistics; put a stage such as "
            "text.document_statistics into its pipeline"
        )
    return found


def _show(screen: Screen, summary: "Summary") -> None:
    from rich.text import Text

    from curator_core.reporting import plain_table
    from curator_core.reporting.figures import count, share
    from curator_core.reporting.statistics import MOST_SHOWN, figure

    table = plain_table("column", "count", "missing", "mean", "least", "5 %", "50 %", "95 %",
                        "most", numbers=("count", "missing", "mean", "least", "5 %", "50 %",
                                         "95 %", "most"))  # fmt: skip
    for name, column in summary.columns.items():
        numbers = column.numbers
        if not numbers.count:
            table.add_row(Text(name), count(column.values.total), count(column.missing))
            continue
        shown = (numbers.mean, numbers.least, *map(numbers.quantile, (0.05, 0.5, 0.95)))
        shown = (*shown, numbers.most)
        table.add_row(Text(name), count(numbers.count), count(column.missing), *map(figure, shown))
    screen.show(table)
    for name, column in summary.columns.items():
        if column.values.total:
            values = plain_table(name, "count", "share", numbers=("count", "share"))
            for value, times in column.values.top(MOST_SHOWN):
                values.add_row(Text(value), count(times), share(times, column.values.total))
            screen.say()
            screen.show(values)
