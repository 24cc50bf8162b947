"""JSON Schema of recipes, for completion and checks in editors."""

from collections.abc import Mapping
from typing import Any

from curator_core import PythonFunction
from curator_core.errors import PluginError
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.recipes.help import doc_of
from curator_cli.recipes.option_validation import model_of
from curator_cli.recipes.options import (
    OptionTable,
    pipeline_settings,
    run_settings,
    settings,
    with_docs,
)
from curator_cli.recipes.python_steps import python_table
from curator_cli.recipes.steps import load_stage, stage_table
from curator_cli.recipes.workflow_steps import step_table
from curator_cli.recipes.workflows import load_workflow, workflow_table

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def recipe_schema(plugins: Plugins | None = None) -> dict[str, Any]:
    """Return a schema with one variant for each installed stage that loads."""
    plugins = installed_plugins() if plugins is None else plugins
    definitions: dict[str, Any] = {}
    bare: list[str] = []
    variants = []
    for name in plugins.stages:
        try:
            found = load_stage(name, plugins)
            definitions |= _definitions_of(name, found)
        except PluginError:
            continue  # `curate plugins` reports it
        variants.append({"$ref": f"#/$defs/{name}"})
        if not any(option.required for option in stage_table(found).options.values()):
            bare.append(name)
    names = [{"enum": bare}] if bare else []
    definitions["stage"] = {"anyOf": [*names, *variants]} if variants else {"not": {}}
    others = [*_workflow_steps(plugins, definitions), _python_step(definitions)]
    definitions["step"] = {"anyOf": [{"$ref": "#/$defs/stage"}, *others]}
    outer = _outer(plugins, definitions)
    workflows = _workflows(plugins, definitions)
    if workflows:
        outer["workflow"] = {"enum": workflows, "description": _WORKFLOW}
        outer["options"] = {"type": "object"}
    return {
        "$schema": DIALECT,
        "title": "Curator recipe",
        "type": "object",
        "additionalProperties": False,
        "properties": outer,
        **(_conditions(workflows) if workflows else {}),
        "$defs": definitions,
    }


_WORKFLOW = "Several pipelines one after another, in place of steps."


def _workflows(plugins: Plugins, definitions: dict[str, Any]) -> list[str]:
    """Return the names of workflows that load, and add their options to the definitions."""
    names = []
    for name in plugins.workflows:
        try:
            kind = load_workflow(name, plugins)
            table = with_docs(workflow_table(kind), kind)
            definitions[f"workflow:{name}"] = _object(f"workflow:{name}", table, definitions)
        except PluginError:
            continue  # `curate plugins` reports it
        names.append(name)
    return names


def _workflow_steps(plugins: Plugins, definitions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return references to the definitions of workflows that can be steps."""
    steps = []
    for name in plugins.workflows:
        try:
            kind = load_workflow(name, plugins)
        except PluginError:
            continue  # `curate plugins` reports it
        if kind.step_options:
            key = f"step:{name}"
            table = with_docs(step_table(kind), kind)
            definitions[key] = _step("workflow", {"const": name}, _object(key, table, definitions))
            steps.append({"$ref": f"#/$defs/{key}"})
    return steps


def _python_step(definitions: dict[str, Any]) -> dict[str, Any]:
    table = with_docs(python_table(), PythonFunction).over(settings())
    pattern = {"type": "string", "pattern": r"^[^:]+\.py:\w+$"}
    definitions["python"] = _step("python", pattern, _object("python", table, definitions))
    return {"$ref": "#/$defs/python"}


def _step(key: str, named: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    properties = {key: named, "id": {"type": "string"}, **options["properties"]}
    return {**options, "properties": properties, "required": [key, *options.get("required", [])]}


def _conditions(workflows: list[str]) -> dict[str, Any]:
    return {
        "dependentRequired": {"options": ["workflow"]},
        "allOf": [_variant(name) for name in workflows],
    }


def _variant(name: str) -> dict[str, Any]:
    """Return the condition that applies to recipes of this workflow."""
    asked = {"properties": {"workflow": {"const": name}}, "required": ["workflow"]}
    steps = dict.fromkeys(("input", "steps", "output", "errors"), False)
    options = {"$ref": f"#/$defs/workflow:{name}"}
    then = {"properties": {"options": options, **steps}, "required": ["options"]}
    return {"if": asked, "then": then}


def _outer(plugins: Plugins, definitions: dict[str, Any]) -> dict[str, Any]:
    stage, step = {"$ref": "#/$defs/stage"}, {"$ref": "#/$defs/step"}
    names = sorted({*plugins.executors, *(name.rpartition(".")[2] for name in plugins.executors)})
    options = {"type": "object", "properties": {"name": {"enum": names}}, "required": ["name"]}
    return {
        "name": {"type": "string", "description": "What the pipeline is called."},
        "description": {"type": "string", "description": "What it is for."},
        "executor": {"anyOf": [{"enum": names}, options]},
        "input": stage,
        "steps": {"type": "array", "items": step},
        "output": stage,
        "errors": _object("errors", pipeline_settings(), definitions),
        "run": _object("run", run_settings(), definitions),
    }


def _definitions_of(name: str, found: Any) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    table = stage_table(found)
    if isinstance(found, type):
        table = with_docs(table, found)
    schema = _object(name, table, definitions)
    doc = {"description": doc_of(found)} if doc_of(found) else {}
    return {**definitions, name: {**_step("stage", {"const": name}, schema), **doc}}


def _object(prefix: str, table: OptionTable, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of some options; the types they refer to are added to the definitions."""
    from pydantic.json_schema import GenerateJsonSchema

    class Tolerant(GenerateJsonSchema):
        """Makes options that only Python can set match nothing, instead of failing."""

        ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012

        def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
            return {"not": {}}

    template = f"#/$defs/{prefix}:{{model}}"
    made = model_of(table).model_json_schema(ref_template=template, schema_generator=Tolerant)
    for name, inner in made.pop("$defs", {}).items():
        definitions[f"{prefix}:{name}"] = _remove_titles(inner)
    return {key: value for key, value in _remove_titles(made).items() if key != "title"}


def _remove_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the titles that pydantic derives from field names: they only clutter editors."""
    properties = schema.get("properties", {})
    plain = {
        name: {key: value for key, value in about.items() if key != "title"}
        for name, about in properties.items()
    }
    return {**schema, "properties": plain} if plain else dict(schema)
