"""`curate init`."""

from pathlib import Path

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen


@click.command()
@click.argument("folder", metavar="DIR", required=False)
@click.option("--plugin", metavar="NAME", help="Write a package with a stage of your own instead.")
@speaks
def init(screen: Screen, folder: str | None, plugin: str | None) -> None:
    """Write a starter recipe and a little data into DIR, by default here.

    Nothing is overwritten. With --plugin, write a package that offers a stage, by default into
    curator-NAME.
    """
    from curator_core.starting import start_package, start_recipe

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
    screen.give({"folder": str(place), "files": [str(path) for path in written], "next": steps})
    for path in written:
        screen.say(f"wrote {path}")
    screen.say()
    screen.say("Next:")
    for step in steps:
        screen.say(f"  {step}")
