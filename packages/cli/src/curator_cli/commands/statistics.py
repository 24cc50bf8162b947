"""`curate statistics`: statistics of the data, from a run or a folder."""

import os
from typing import TYPE_CHECKING

import click

from curator_cli.options import with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core.io.statistics import Summary


@click.command()
@click.argument("place", metavar="RUN|FOLDER")
@with_output
def statistics(screen: Screen, place: str) -> None:
    """Show statistics of data: those that RUN collected, or those in FOLDER."""
    from curator_core.io.statistics import read_summary
    from curator_report.statistics import facts_of

    summary = read_summary(_files(place))
    screen.print_json(facts_of(summary))
    if not screen.as_json:
        _show(screen, summary)


def _files(place: str) -> list[str]:
    from curator_core.errors import InputError
    from curator_core.io.filesystems import join, open_filesystem
    from curator_core.io.listing import FileFilter, find_files
    from curator_core.io.statistics import STATISTICS_ENDING
    from curator_report.run_record import read_run

    from curator_cli.run_directories import find_run

    fs, root = open_filesystem(place)
    if fs.isdir(root) and not fs.exists(join(root, "run.json")):
        listed = [entry for entry in fs.ls(root, detail=False) if entry.endswith(STATISTICS_ENDING)]
        if listed:
            return [part.path for part in find_files([place], FileFilter((STATISTICS_ENDING,)))]
    run = find_run(place)
    found = [path for path in read_run(run).result.files if path.endswith(STATISTICS_ENDING)]
    if not found:
        raise InputError(
            f"run {os.path.basename(run)} collected no statistics; put a stage such as "
            "text.document_statistics into its pipeline"
        )
    return found


def _show(screen: Screen, summary: "Summary") -> None:
    from curator_core.model.formatting import count, share
    from curator_report import plain_table
    from curator_report.statistics import MOST_SHOWN, figure
    from rich.text import Text

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
            screen.print_line()
            screen.show(values)
