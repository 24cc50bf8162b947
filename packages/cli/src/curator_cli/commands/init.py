"""`curate init`."""

from pathlib import Path

import click

from curator_cli.options import with_output
from curator_cli.output import Screen


@click.command()
@click.argument("folder", metavar="DIR", required=False)
@click.option("--plugin", metavar="NAME", help="Write a package with a stage of your own instead.")
@with_output
def init(screen: Screen, folder: str | None, plugin: str | None) -> None:
    """Write a starter recipe and a little data into DIR (default: the current folder).

    Nothing is overwritten. With --plugin, write a package that offers a stage, by default into
    curator-NAME.
    """
    from curator_cli.scaffold import start_package, start_recipe

    if plugin is None:
        place = Path(folder or ".")
        written = start_recipe(place)
        steps = ["curate preview recipe.yaml", "curate run recipe.yaml"]
    else:
        written = start_package(plugin, folder)
        place = written[0].parent
        steps = ["pip install -e '.[test]'", f"curate stages {plugin}.upper", "pytest"]
    if place != Path():
        steps.insert(0, f"cd {place}")
    screen.print_json(
        {"folder": str(place), "files": [str(path) for path in written], "next": steps}
    )
    for path in written:
        screen.print_line(f"wrote {path}")
    screen.print_line()
    screen.print_line("Next:")
    for step in steps:
        screen.print_line(f"  {step}")
