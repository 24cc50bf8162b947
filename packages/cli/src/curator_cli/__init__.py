"""The `curate` command, and recipes: pipelines that are read from YAML and written as YAML."""

from curator_core.plugins.exports import lazy_exports

EXPORTS = {
    "curator_cli.app": ("call", "main"),
    "curator_cli.recipes": (
        "Permissions",
        "Recipe",
        "load_recipe",
        "pipeline_from_yaml",
        "pipeline_to_yaml",
        "recipe_schema",
    ),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, EXPORTS)
