"""Starter files: a recipe with a little data, or a package for a plugin."""

from curator_core.starting.packages import start_package
from curator_core.starting.recipes import start_recipe

__all__ = ["start_package", "start_recipe"]
