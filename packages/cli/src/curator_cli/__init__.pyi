# Generated from the package's list of public names: run `hatch run generate`.
from curator_cli.app import call as call
from curator_cli.app import main as main
from curator_cli.recipes import Permissions as Permissions
from curator_cli.recipes import Recipe as Recipe
from curator_cli.recipes import load_recipe as load_recipe
from curator_cli.recipes import pipeline_from_yaml as pipeline_from_yaml
from curator_cli.recipes import pipeline_to_yaml as pipeline_to_yaml
from curator_cli.recipes import recipe_schema as recipe_schema

__all__ = [
    "Permissions",
    "Recipe",
    "call",
    "load_recipe",
    "main",
    "pipeline_from_yaml",
    "pipeline_to_yaml",
    "recipe_schema",
]
