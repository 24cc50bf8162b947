"""`curate card`: the report of a run as a dataset card for Hugging Face."""

import click

from curator_cli.options import with_output
from curator_cli.output import Screen


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--license", "license_id", metavar="NAME", help="License of the data, such as cc-by-4.0."
)
@click.option(
    "--output",
    metavar="PATH",
    help="Path of the card, or - for stdout; by default, it is in the run directory.",
)
@with_output
def card(screen: Screen, run: str, license_id: str | None, output: str | None) -> None:
    """Write a dataset card: the report of a run as Markdown.

    RUN is a run directory, or the output folder of a run. The card starts with the metadata that
    Hugging Face reads from the README.md of a dataset.
    """
    from curator_core.io.filesystems import join
    from curator_report.card import FILE, render_card

    from curator_cli.run_directories import find_run_or_curation

    run_dir = find_run_or_curation(run)
    text = render_card(run_dir, license_id)
    if output == "-":
        screen.print_json({"card": text})
        screen.print_line(text.rstrip("\n"))
        return
    path = output or join(run_dir, FILE)
    _write(path, text)
    screen.print_json({"card": path})
    screen.print_line(f"card: {path}")
    if output is None:
        screen.print_line("next: copy it as README.md into the folder that you upload")


def _write(path: str, text: str) -> None:
    from curator_core.errors import InputError, OutputError, reason_of
    from curator_core.io.filesystems import join, open_filesystem

    fs, where = open_filesystem(path)
    if fs.isdir(where):
        raise InputError(f"{path} is a folder; name a file, such as {join(path, 'README.md')}")
    try:
        fs.pipe_file(where, text.encode("utf-8", "replace"))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason_of(error)}") from None
