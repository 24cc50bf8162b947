"""Recipes: pipelines read from YAML and written as YAML."""

from curator_core.model.secrets import Secret, redact, secret

from curator_cli.recipes.dump import (
    curation_from_yaml,
    curation_to_yaml,
    pipeline_from_yaml,
    pipeline_to_yaml,
)
from curator_cli.recipes.help import (
    ExtraHelp,
    OptionHelp,
    StageHelp,
    WorkflowHelp,
    stage_help,
    workflow_help,
)
from curator_cli.recipes.loading import Recipe, apply_settings, load_recipe
from curator_cli.recipes.permissions import Permissions
from curator_cli.recipes.schema import recipe_schema

__all__ = [
    "ExtraHelp",
    "OptionHelp",
    "Permissions",
    "Recipe",
    "Secret",
    "StageHelp",
    "WorkflowHelp",
    "apply_settings",
    "curation_from_yaml",
    "curation_to_yaml",
    "load_recipe",
    "pipeline_from_yaml",
    "pipeline_to_yaml",
    "recipe_schema",
    "redact",
    "secret",
    "stage_help",
    "workflow_help",
]
