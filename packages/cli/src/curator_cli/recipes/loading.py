"""Loading recipes: untrusted YAML becomes a pipeline, or an error that lists every problem."""

import errno
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, BinaryIO

from curator_core import AnyStage, Curation, Executor, ProcessingStage, PythonFunction, StagesPart
from curator_core.errors import InputError, PipelineError, PluginError, nearest_file
from curator_core.model.secrets import redact
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.option_validation import OptionContext, validated
from curator_cli.recipes.options import (
    Option,
    OptionTable,
    options_of,
    pipeline_settings,
    run_settings,
)
from curator_cli.recipes.overrides import with_settings
from curator_cli.recipes.parsing import LARGEST_FILE, parse
from curator_cli.recipes.permissions import Permissions
from curator_cli.recipes.problems import Document, Path, Problems, cluster_problems
from curator_cli.recipes.recipe_step import RecipeStep
from curator_cli.recipes.steps import build_step, find_steps
from curator_cli.recipes.workflow_steps import build_curation
from curator_cli.recipes.workflows import ChosenWorkflow, build_workflow

if TYPE_CHECKING:
    from curator_core import Pipeline


@dataclass(frozen=True)
class Recipe:
    """A checked recipe. Its repr leaves out option values, which may be secret."""

    name: str
    description: str
    steps: tuple[RecipeStep, ...]
    document: Document
    stages: tuple[AnyStage, ...] = field(repr=False)
    settings: dict[str, Any]
    run_options: dict[str, Any]
    executor_options: tuple[type[Executor], dict[str, Any]] | None = field(repr=False)
    plugins: Plugins = field(repr=False)
    permissions: Permissions
    workflow: ChosenWorkflow | None = field(default=None, repr=False)
    """Used instead of steps: the workflow makes its pipelines itself."""

    @property
    def curation(self) -> Curation | None:
        """The workflow that the steps make, if some of them are workflows."""
        made = self.workflow.workflow if self.workflow else None
        return made if isinstance(made, Curation) else None

    def pipeline(self) -> "Pipeline":
        from curator_core import Pipeline

        if self.workflow is not None:
            raise PipelineError(
                f"{self.document.file}: workflow {self.workflow.name!r} is several pipelines, of "
                "which each is made when those before it have run; use curate plan and curate run"
            )
        return Pipeline(self.name, self.description, list(self.stages), **self.settings)

    def first_pipeline(self) -> "Pipeline":
        """Return the pipeline; of a curation, the stages before its first workflow."""
        if self.curation is None:
            return self.pipeline()
        first = self.curation.parts[0]
        assert isinstance(first, StagesPart)
        return replace(first.pipeline, name=self.name, stages=first.pipeline.stages[:-1])

    def python_sources(self) -> dict[Path, str]:
        """Return the contents of the Python files that steps use, by the path of the step."""
        places = {step.id: step.path for step in self.steps}
        functions = (stage for stage in self.stages if isinstance(stage, PythonFunction))
        return {places[stage.name]: stage.source for stage in functions}

    def executor(self) -> Executor | None:
        """Return a new executor as the recipe asks for it, or None if the recipe names none."""
        if self.executor_options is None:
            return None
        kind, options = self.executor_options
        try:
            return kind(**options)
        except (TypeError, ValueError) as error:
            text = redact(str(error))
        place = self.document.place(("executor",))
        where = place if isinstance(place, str) else f"{self.document.file}:{place}"
        raise PipelineError(f"{where}: executor: {text}")


def load_recipe(
    source: str | os.PathLike[str],
    settings: Iterable[str] = (),
    plugins: Plugins | None = None,
    permissions: Permissions | None = None,
) -> Recipe:
    """Load a recipe from a file, or from a text of several lines, and apply settings (`a.b=value`).

    `permissions` limits what the recipe may do; by default the environment sets the limits.
    """
    return checked(with_settings(read(source), settings), plugins, permissions)


def apply_settings(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """Return the recipe with options changed: `steps.<id>.<option>=<value>`, `input.path=…`."""
    changed = with_settings(recipe.document, settings)
    return checked(changed, recipe.plugins, recipe.permissions)


def read(source: str | os.PathLike[str]) -> Document:
    """Read a recipe as unchecked data; `-` reads stdin."""
    if isinstance(source, str) and "\n" in source:
        return parse(source)
    path = FilePath("<stdin>" if source == "-" else source)
    try:
        with _open_source(source) as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"recipe {str(source)!r} cannot be read: {reason}{_near(path)}") from None
    if len(content) > LARGEST_FILE:
        raise PipelineError(f"{path}: a recipe has at most {LARGEST_FILE:,} bytes")
    try:
        return parse(content.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PipelineError(
            f"{path}:{line}: a recipe is UTF-8 text, but this is not; save it as UTF-8"
        ) from None


def _open_source(source: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    if source != "-":
        return open(source, "rb")
    if sys.stdin is None:
        raise OSError(errno.EBADF, "nothing is piped in")
    return nullcontext(sys.stdin.buffer)


def checked(
    document: Document, plugins: Plugins | None = None, permissions: Permissions | None = None
) -> Recipe:
    """Return the recipe that a document describes, or raise with every problem in it."""
    plugins = installed_plugins() if plugins is None else plugins
    permissions = Permissions.of_environment() if permissions is None else permissions
    problems = Problems(document, permissions)
    validated(_OUTER, _Untouched(problems), document.data, OptionContext((), noun="key"))
    head = _section(_HEAD, "", problems)
    errors = _section(pipeline_settings(), "errors", problems)
    run = _section(run_settings(), "run", problems)
    steps = find_steps(document, problems)
    stages = [build_step(step, plugins, problems) for step in steps]
    workflow = build_workflow(plugins, problems)
    executor = _executor(plugins, problems)
    if not (steps or problems or workflow):
        problems.add((), "a recipe needs at least one stage, under `steps:`, or a `workflow:`")
    name, description = head.get("name") or _name_from(document.file), head.get("description", "")
    for setting in ("allow_empty", "samples", "fuse"):
        if setting in run:
            errors[setting] = run.pop(setting)
    if not (problems or workflow):
        workflow = build_curation(name, description, stages, errors, run, problems)
    keep = run.pop("keep_intermediate", None)
    if keep is not None and workflow is None:
        problems.add(("run", "keep_intermediate"), "keep_intermediate: no step is a workflow, so "
                     "there are no intermediate files; leave it out")  # fmt: skip
    if problems:
        raise PipelineError(problems.messages())
    return Recipe(
        name=name,
        description=description,
        steps=tuple(steps),
        document=document,
        stages=tuple(stage for stage in stages if isinstance(stage, ProcessingStage)),
        settings=errors,
        run_options=run,
        executor_options=executor,
        plugins=plugins,
        permissions=permissions,
        workflow=workflow,
    )


class _Untouched(Substitution):
    """Substitutes nothing: each part of a recipe is substituted on its own."""

    def apply(self, value: Any, path: object) -> Any:
        return value


_STEP = str | dict[str, Any]
_HEAD = OptionTable(
    {
        "name": Option("name", str, "", "What the pipeline is called."),
        "description": Option("description", str, "", "What it is for."),
    }
)
_OUTER = OptionTable(
    {
        **_HEAD.options,
        "executor": Option("executor", _STEP, None),
        "workflow": Option("workflow", str, ""),
        "options": Option("options", dict[str, Any], {}),
        "input": Option("input", _STEP, None),
        "steps": Option("steps", list[_STEP], []),
        "output": Option("output", _STEP, None),
        "errors": Option("errors", dict[str, Any], {}),
        "run": Option("run", dict[str, Any], {}),
    }
)


def _section(table: OptionTable, key: str, problems: Problems) -> dict[str, Any]:
    """Check a section that runs display, and where secrets are therefore refused."""
    data = problems.document.data
    values = data.get(key, {}) if key else {k: v for k, v in data.items() if k in table.options}
    if not isinstance(values, dict):
        return {}
    given = Substitution(problems, may_be_secret=False)
    context = OptionContext((key,) if key else (), key, noun="option" if key else "key")
    return validated(table, given, values, context) or {}


def _executor(plugins: Plugins, problems: Problems) -> tuple[type[Executor], dict[str, Any]] | None:
    values = problems.document.data.get("executor")
    values = {"name": values} if isinstance(values, str) else values
    if not isinstance(values, dict):
        return None
    path = ("executor",)
    for where, text in cluster_problems(problems):
        problems.add(where, text)
    name = values.get("name")
    if not isinstance(name, str):
        problems.add(path, "executor: `name:` must say which executor, as text")
        return None
    options = {key: value for key, value in values.items() if key != "name"}
    try:
        kind = plugins.executors.load(name)
        if not (isinstance(kind, type) and issubclass(kind, Executor)):
            raise PluginError(f"{name!r} is offered as an executor, but is none")
        context, table = OptionContext(path, f"executor {name!r}"), _executor_options(kind)
        values = validated(table, Substitution(problems), _in_config(options, table), context)
    except PluginError as error:
        problems.add((*path, "name"), redact(str(error)))
        return None
    return None if values is None else (kind, values)


def _in_config(options: dict[str, Any], table: OptionTable) -> dict[str, Any]:
    """Move options next to `name:` into the executor's config, if it has one."""
    loose = {key: value for key, value in options.items() if key not in table.options}
    config = options.get("config") or {}
    if not (loose and "config" in table.options and isinstance(config, dict)):
        return options
    own = {key: value for key, value in options.items() if key in table.options}
    return own | {"config": config | loose}


def _executor_options(kind: type[Executor]) -> OptionTable:
    """Return the executor's options without runtime_env, which may run any code: Python only."""
    table = options_of(kind)
    safe = {name: option for name, option in table.options.items() if name != "runtime_env"}
    return OptionTable(safe)


def _name_from(file: str) -> str:
    return "recipe" if file.startswith("<") else FilePath(file).stem


def _near(path: FilePath) -> str:
    try:
        if path.is_dir():
            inside = sorted([*path.glob("*.yaml"), *path.glob("*.yml")])
            return f" (did you mean {inside[0]}?)" if inside else ""
        found = nearest_file(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""
    return f" (did you mean {path.parent / found}?)" if found else ""
