"""The schema that editors use to complete recipes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import yaml
from curator_cli.recipes import load_recipe, recipe_schema
from curator_core import DocumentBatch, Executor, ProcessingStage
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins

jsonschema = pytest.importorskip("jsonschema")


@dataclass(frozen=True)
class Span:
    low: int = 0
    high: int = 9


@dataclass
class Keep(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Keeps records of the right size."""

    size: int
    """How large it is."""
    mode: Literal["fast", "exact"] = "fast"
    span: Span = field(default_factory=Span)
    words: list[str] = field(default_factory=list)
    rule: Callable[[str], bool] | None = None


@dataclass
class Plain(ProcessingStage[DocumentBatch, DocumentBatch]):
    pass


class Line(Executor):
    def execute(self, plan: Any, run: Any) -> Any:
        return iter(())


@pytest.fixture(scope="module")
def found() -> Plugins:
    stages = {
        name: f"{__name__}:{name.partition('.')[2].title()}" for name in ("t.keep", "t.plain")
    }
    stages["t.broken"] = "no_such_module:Stage"
    made = Plugins()
    plugin = SimpleNamespace(
        curator_stages=hookimpl(lambda: stages, specname="curator_stages"),
        curator_executors=hookimpl(
            lambda: {"t.line": f"{__name__}:Line"}, specname="curator_executors"
        ),
    )
    made.register("t", plugin)
    return made


@pytest.fixture(scope="module")
def schema(found: Plugins) -> Any:
    made = recipe_schema(found)
    jsonschema.Draft202012Validator.check_schema(made)
    return made


GOOD = """
name: x
description: y
executor: {name: line, workers: 2}
input: t.plain
steps:
  - t.plain
  - {stage: t.keep, id: a, size: 3, mode: exact, span: {low: 2}, words: [a], on_error: skip}
  - {stage: t.plain, resources: {cpus: 2}, retries: 1, timeout_s: 60, batch_size: 1, num_workers: 2}
output: {stage: t.keep, size: 1}
errors: {on_error: quarantine, retries: 1, timeout_s: null, max_failures: 0.01}
run: {run_dir: here, resume: true, allow_empty: false}
"""


def test_a_good_recipe_is_valid(schema: Any) -> None:
    jsonschema.validate(yaml.safe_load(GOOD), schema)


BAD = [
    "steps: [t.plian]",
    "steps: [t.keep]",
    "steps: [t.broken]",
    "steps: [{stage: t.keep}]",
    "steps: [{stage: t.keep, size: abc}]",
    "steps: [{stage: t.keep, size: 3, sise: 3}]",
    "steps: [{stage: t.keep, size: 3, mode: quick}]",
    "steps: [{stage: t.keep, size: 3, span: {lwo: 1}}]",
    "steps: [{stage: t.keep, size: 3, words: a}]",
    "steps: [{stage: t.keep, size: 3, rule: len}]",
    "steps: [{stage: t.plain, retries: -1}]",
    "steps: [{stage: t.plain, resources: {cpu: 1}}]",
    "steps: [{stage: t.plain, runtime_env: {}}]",
    "steps: t.plain",
    "stesp: [t.plain]",
    "{steps: [t.plain], errors: {on_error: never}}",
    "{steps: [t.plain], run: {resum: true}}",
    "{steps: [t.plain], executor: nowhere}",
]


@pytest.mark.parametrize("text", BAD)
def test_a_bad_recipe_is_invalid(text: str, schema: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)


@pytest.mark.parametrize("text", BAD)
def test_loading_agrees_with_the_schema(text: str, found: Plugins) -> None:
    from curator_core.errors import PipelineError

    with pytest.raises(PipelineError):
        load_recipe(f"{text}\n", plugins=found)


def test_options_come_with_types_defaults_and_docs(schema: Any) -> None:
    keep = schema["$defs"]["t.keep"]
    assert keep["description"] == "Keeps records of the right size."
    assert keep["properties"]["stage"] == {"const": "t.keep"}
    assert keep["properties"]["size"] == {"type": "integer", "description": "How large it is."}
    assert keep["properties"]["mode"]["default"] == "fast"
    assert keep["required"] == ["stage", "size"]


def test_stages_that_do_not_load_are_left_out(schema: Any) -> None:
    assert "t.broken" not in schema["$defs"]
    assert schema["$defs"]["stage"]["anyOf"][0] == {"enum": ["t.plain"]}


def test_without_plugins_the_schema_is_valid() -> None:
    made = recipe_schema(Plugins())
    jsonschema.Draft202012Validator.check_schema(made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"steps": ["t.plain"]}, made)


def test_the_schema_of_the_installed_plugins() -> None:
    jsonschema.Draft202012Validator.check_schema(recipe_schema())
