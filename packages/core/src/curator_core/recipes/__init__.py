"""Recipes: pipelines read from YAML and written as YAML."""

from curator_core.model.secrets import Secret, redact, secret
from curator_core.recipes.describing import (
    OptionHelp,
    StageHelp,
    WorkflowHelp,
    stage_help,
    workflow_help,
)
from curator_core.recipes.loading import Recipe, apply_settings, load_recipe
from curator_core.recipes.permissions import Permissions
from curator_core.recipes.schemas import recipe_schema
from curator_core.recipes.writing import pipeline_from_yaml, pipeline_to_yaml

__all__ = [
    "OptionHelp",
    "Permissions",
    "Recipe",
    "Secret",
    "StageHelp",
    "WorkflowHelp",
    "apply_settings",
    "load_recipe",
    "pipeline_from_yaml",
    "pipeline_to_yaml",
    "recipe_schema",
    "redact",
    "secret",
    "stage_help",
    "workflow_help",
]
