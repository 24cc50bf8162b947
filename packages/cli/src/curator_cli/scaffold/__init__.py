"""Starter files: a recipe with a little data, or a package for a plugin."""

from curator_cli.scaffold.package import start_package
from curator_cli.scaffold.recipe import start_recipe

__all__ = ["start_package", "start_recipe"]
