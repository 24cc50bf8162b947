"""`curate schema`: the JSON Schema of recipes."""

import click

from curator_cli.options import with_output
from curator_cli.output import Screen, print_json


@click.command()
@with_output
def schema(screen: Screen) -> None:
    """Print the JSON Schema of recipes.

    Save it and start a recipe with `# yaml-language-server: $schema=FILE` to get completion and
    checks in editors.
    """
    from curator_cli.recipes import recipe_schema

    print_json(recipe_schema())
