"""Writing pipelines as recipes."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from curator_core import AnyStage, PythonFunction
from curator_core.errors import PipelineError
from curator_core.model.secrets import Secret, is_credential, redact
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.recipes.loading import checked
from curator_cli.recipes.options import (
    Option,
    OptionTable,
    options_of,
    pipeline_settings,
    settings,
)
from curator_cli.recipes.parsing import parse
from curator_cli.recipes.permissions import Permissions
from curator_cli.recipes.python_steps import SOURCE, python_table
from curator_cli.recipes.steps import ID_RULE, is_id, short_name

if TYPE_CHECKING:
    from curator_core import Curation, Pipeline, WorkflowStep


def pipeline_from_yaml(
    text: str, plugins: Plugins | None = None, permissions: Permissions | None = None
) -> "Pipeline":
    """Return the pipeline that a recipe's text describes."""
    return checked(parse(text), plugins, permissions).pipeline()


def pipeline_to_yaml(pipeline: "Pipeline", plugins: Plugins | None = None) -> str:
    """Write the pipeline as a recipe, without options that have their default."""
    writer = _Writer(installed_plugins() if plugins is None else plugins)
    return writer.text(_head(pipeline, [writer.step(stage) for stage in pipeline.stages]))


def curation_from_yaml(
    text: str, plugins: Plugins | None = None, permissions: Permissions | None = None
) -> "Curation":
    """Return the curation that a recipe's text describes."""
    from curator_core import Curation

    recipe = checked(parse(text), plugins, permissions)
    made = recipe.workflow.workflow if recipe.workflow else None
    if not isinstance(made, Curation):
        raise PipelineError("no step of the recipe is a workflow; use Pipeline.from_yaml")
    return made


def curation_to_yaml(curation: "Curation", plugins: Plugins | None = None) -> str:
    """Write the curation as a recipe, without options that have their default."""
    from curator_core import Pipeline, WorkflowStep

    writer = _Writer(installed_plugins() if plugins is None else plugins)
    steps = [
        writer.workflow_step(step) if isinstance(step, WorkflowStep) else writer.step(step)
        for step in curation.steps
    ]
    settings: Any = curation.settings
    recipe = _head(Pipeline(curation.name, curation.description, **settings), steps)
    if curation.keep_intermediate:
        recipe.setdefault("run", {})["keep_intermediate"] = True
    return writer.text(recipe)


def _head(pipeline: "Pipeline", steps: list[Any]) -> dict[str, Any]:
    recipe: dict[str, Any] = {"name": _escape(pipeline.name)}
    if pipeline.description:
        recipe["description"] = _escape(pipeline.description)
    recipe["steps"] = steps
    errors = {
        name: getattr(pipeline, name)
        for name, option in pipeline_settings().options.items()
        if not _same(getattr(pipeline, name), option.default)
    }
    if errors:
        recipe["errors"] = errors
    run = {"allow_empty": True} if pipeline.allow_empty else {}
    if not pipeline.samples:
        run["samples"] = False
    if not pipeline.fuse:
        run["fuse"] = False
    if run:
        recipe["run"] = run
    return recipe


class _UnwritableError(Exception):
    """A value that YAML cannot express, or that must not be written."""


class _Writer:
    """Turns stages into steps and collects problems."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self.problems: list[str] = []

    def text(self, recipe: dict[str, Any]) -> str:
        """Return the recipe as YAML; raise if something in it could not be written."""
        import yaml

        if self.problems:
            raise PipelineError(self.problems)
        return str(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=100))

    def _name_of(self, stage: AnyStage) -> str | None:
        catalog = self.plugins.stages
        name = catalog.name_of(type(stage)) or catalog.name_of(stage) or self._name_of_copy(stage)
        if name is None:
            kind = type(stage)
            self.problems.append(
                f"stage {stage.name!r} cannot be written: no plugin offers "
                f"{kind.__module__}:{kind.__qualname__}; offer it with the hook curator_stages"
            )
        return name

    def _name_of_copy(self, stage: AnyStage) -> str | None:
        """Return the registered name of a function's stage that `with_` copied."""
        function = getattr(stage, "function", None)
        for name in self.plugins.stages:
            found = self.plugins.stages.loaded(name)
            if function is not None and getattr(found, "function", None) is function:
                return name
        return None

    def workflow_step(self, step: "WorkflowStep") -> Any:
        name = self.plugins.workflows.name_of(step.kind)
        if name is None:
            self.problems.append(
                f"workflow {step.name!r} cannot be written: no plugin offers it; offer it with "
                "the hook curator_workflows"
            )
            return None
        written: dict[str, Any] = {"workflow": name}
        if step.name != short_name(name):
            written["id"] = step.name
        return {**written, **_plain(step.options, "")}

    def step(self, stage: AnyStage) -> Any:
        if isinstance(stage, PythonFunction):
            return self._python_step(stage)
        name = self._name_of(stage)
        if name is None:
            return None
        step: dict[str, Any] = {"stage": name}
        if stage.name != short_name(name):
            step["id"] = stage.name
        if not is_id(stage.name):
            self.problems.append(
                f"stage {stage.name!r}: its name cannot be an id in a recipe: {ID_RULE}"
            )
        self._add_options(step, stage, name)
        return step if len(step) > 1 else name

    def _python_step(self, stage: PythonFunction) -> dict[str, Any]:
        step: dict[str, Any] = {"python": f"{stage.file}:{stage.function}"}
        if stage.name != stage.function:
            step["id"] = stage.name
        for option in python_table().options.values():
            if option.name != SOURCE:
                self._add(step, stage, option)
        for option in settings().options.values():
            self._add_setting(step, stage, option)
        return step

    def _add_options(self, step: dict[str, Any], stage: AnyStage, name: str) -> None:
        own = _own_options(stage, self.plugins, name)
        for option in own.options.values():
            self._add(step, stage, option)
        for option in settings().options.values():
            if option.name not in own.options:
                self._add_setting(step, stage, option)
        if stage.runtime_env and "runtime_env" not in own.options:
            self._complain(stage, "runtime_env", "it can be given in Python only")

    def _add(self, step: dict[str, Any], stage: AnyStage, option: Option) -> None:
        if not hasattr(stage, option.name):
            self._complain(stage, option.name, "the stage keeps it in no attribute of that name")
            return
        value = getattr(stage, option.name)
        if option.required or not _same(value, option.default):
            self._put(step, stage, option, value)

    def _add_setting(self, step: dict[str, Any], stage: AnyStage, option: Option) -> None:
        if option.name == "num_workers":
            if stage.requested_workers != stage.num_workers():
                step["num_workers"] = stage.requested_workers
            return
        value = getattr(stage, option.name)
        if not _same(value, getattr(type(stage), option.name)):
            self._put(step, stage, option, value)

    def _put(self, step: dict[str, Any], stage: AnyStage, option: Option, value: Any) -> None:
        try:
            step[option.name] = _plain(value, option.name if option.hides(value) else "")
        except _UnwritableError as problem:
            self._complain(stage, option.name, str(problem))

    def _complain(self, stage: AnyStage, option: str, why: str) -> None:
        self.problems.append(f"stage {stage.name!r}: option {option} cannot be written: {why}")


def _own_options(stage: AnyStage, plugins: Plugins, name: str) -> OptionTable:
    """Return the stage's options; none for a registered instance, which its name describes."""
    kind: Any = type(stage)
    is_class = isinstance(plugins.stages.loaded(name), type)
    return options_of(kind) if is_class else OptionTable()


def _plain(value: Any, name: str) -> Any:
    """Convert a value to YAML's types; a secret becomes a reference to its variable."""
    if isinstance(value, Secret):
        return value.shown
    if isinstance(value, Enum):
        return _plain(value.value, name)
    if isinstance(value, str | PurePath):
        return _text(str(value), name)
    if value is None or isinstance(value, bool | int | float):
        return value
    return _collection(value, name)


def _collection(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(_plain(item, name) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    raise _UnwritableError(f"a {type(value).__name__} has no form in YAML")


def _fields(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    own = options_of(kind).options
    return {
        found.name: _plain(getattr(value, found.name), found.name)
        for found in fields(value)
        if found.name in own and not _same(getattr(value, found.name), own[found.name].default)
    }


def _text(value: str, name: str) -> str:
    if value and is_credential(name):
        raise _UnwritableError(f"{name} is a credential; take it from secret('VARIABLE')")
    if redact(value) != value:
        raise _UnwritableError("there is a credential in it; take it from secret('VARIABLE')")
    return _escape(value)


def _escape(value: str) -> str:
    return value.replace("${", "$${")


def _same(value: Any, default: Any) -> bool:
    try:
        alike = type(value) is type(default) or isinstance(value, Mapping)
        return alike and bool(value == default)
    except (TypeError, ValueError):  # arrays do not compare to a single bool
        return False
