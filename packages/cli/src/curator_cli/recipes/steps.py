"""Steps of a recipe, and the stages built from them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from curator_core import AnyStage, CompositeStage, ProcessingStage, PythonFunction, WorkflowStep
from curator_core.errors import PluginError, nearest
from curator_core.model.secrets import redact
from curator_core.plugins.registry import Plugins

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.option_validation import OptionContext, validated
from curator_cli.recipes.options import OptionTable, options_of, settings
from curator_cli.recipes.permissions import TRUST_VARIABLE
from curator_cli.recipes.problems import Document, Path, Problems
from curator_cli.recipes.python_steps import build_function, python_table
from curator_cli.recipes.recipe_step import KINDS, Kind, RecipeStep
from curator_cli.recipes.workflow_steps import build_workflow_step, step_table
from curator_cli.recipes.workflows import load_workflow

LONGEST_NAME = 200
ID_RULE = "an id is text of at most 100 letters, digits, spaces, . : _ or -"
_ID = re.compile(r"\w[\w .:-]{0,99}")


def find_steps(document: Document, problems: Problems) -> list[RecipeStep]:
    """Return the steps in order, input first and output last, each with a unique id."""
    found = list(_well_formed(document, problems))
    ids = _ids([(_name_in(step_data), step_data.get("id")) for _, step_data in found])
    seen: set[str] = set()
    for (path, _), given in zip(found, ids, strict=True):
        if given in seen:
            problems.add((*path, "id"), f"the id {given!r} belongs to another step already")
        seen.add(given)
    return [
        RecipeStep(
            given,
            _name_in(step_data),
            path,
            {k: v for k, v in step_data.items() if k not in (*KINDS, "id")},
            _kind_of(step_data),
        )
        for (path, step_data), given in zip(found, ids, strict=True)
    ]


def short_name(stage: str) -> str:
    """Return a name without that of its plugin, or the function of a file."""
    return stage.rpartition(":" if ":" in stage else ".")[2]


def _kind_of(step_data: dict[str, Any]) -> Kind:
    return next((kind for kind in KINDS if kind in step_data), "stage")


def _name_in(step_data: dict[str, Any]) -> str:
    """Return the name of the stage, workflow or function."""
    return next((str(step_data[kind]) for kind in KINDS if kind in step_data), "")


def is_id(given: object) -> bool:
    return isinstance(given, str) and _ID.fullmatch(given) is not None


def stage_table(found: Any) -> OptionTable:
    """Return the stage's own options together with the settings of all stages."""
    return _table_of_class(found) if isinstance(found, type) else settings()


@cache
def _table_of_class(kind: type) -> OptionTable:
    return options_of(kind).over(settings())


def load_stage(name: str, plugins: Plugins) -> Any:
    """Load a stage class, or a ready-made stage, by its registered name."""
    found = plugins.stages.load(name)
    if isinstance(found, ProcessingStage):
        return found
    if isinstance(found, type) and issubclass(found, ProcessingStage):
        return found
    place = plugins.stages.find(name).place
    raise PluginError(f"{name!r} is offered as a stage, but {place} is none")


def table_of(step: RecipeStep, plugins: Plugins) -> OptionTable:
    """Return the options of a step."""
    if step.kind == "python":
        return python_table().over(settings())
    if step.kind == "workflow":
        return step_table(load_workflow(step.stage, plugins))
    return stage_table(load_stage(step.stage, plugins))


def build_step(
    step: RecipeStep, plugins: Plugins, problems: Problems
) -> AnyStage | WorkflowStep | None:
    """Return the stage or workflow of a step, or None if there are problems."""
    if step.kind == "workflow":
        return build_workflow_step(step, plugins, problems)
    if step.kind == "python":
        table = table_of(step, plugins)
        options = build_function(step, table, problems)
        return None if options is None else _create_stage(step, PythonFunction, options, problems)
    return build_stage(step, plugins, problems)


def build_stage(step: RecipeStep, plugins: Plugins, problems: Problems) -> AnyStage | None:
    """Return the stage of a step, or None if there are problems."""
    try:
        found = load_stage(step.stage, plugins)
        table = stage_table(found)
        given = Substitution(problems)
        values = validated(table, given, step.values, OptionContext(step.path, step.label))
    except PluginError as error:
        head = f"{step.label}: " if step.stage in plugins.stages else ""
        text = f"{head}{error}{_if_set_aside(step.stage, plugins)}"
        if step.stage in plugins.workflows:
            text = f"{step.stage!r} is a workflow; write `workflow: {step.stage}`"
        problems.add((*step.path, "stage"), redact(text))
        return None
    return None if values is None else _create_stage(step, found, values, problems)


def _create_stage(
    step: RecipeStep, found: Any, values: dict[str, Any], problems: Problems
) -> AnyStage | None:
    own = options_of(found) if isinstance(found, type) else OptionTable()
    changes = {k: v for k, v in values.items() if k in settings().options and k not in own.options}
    options = {k: v for k, v in values.items() if k not in changes}
    if own.takes_name:
        options["name"] = step.id
    try:
        stage: AnyStage = found(**options) if isinstance(found, type) else found
        stage = stage.with_(name=step.id, **changes)
        code = [] if problems.permissions.trust_code else list(_untrusted_code(stage))
    except Exception as error:  # noqa: BLE001 - the class's own checks may raise anything
        problems.add(step.path, redact(f"{step.label}: {error or type(error).__name__}"))
        return None
    for problem in code:
        remedy = f"if you trust it, run with --trust-code, or with {TRUST_VARIABLE}=1"
        problems.add(step.path, redact(f"{step.label}: {problem}; {remedy}"))
    return stage


def _untrusted_code(stage: AnyStage) -> Iterator[str]:
    yield from stage.untrusted_code()
    if isinstance(stage, CompositeStage):
        for part in stage.parts():
            yield from _untrusted_code(part)


def _if_set_aside(stage: str, plugins: Plugins) -> str:
    plugin = stage.partition(".")[0]
    found = [str(broken) for broken in plugins.broken if broken.name == plugin]
    return f"; {'; '.join(found)}" if found and stage not in plugins.stages else ""


def _well_formed(document: Document, problems: Problems) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path, item in _items(document.data):
        step_data = {"stage": item} if isinstance(item, str) else item
        if not isinstance(step_data, dict):
            continue  # the check of the recipe's outer shape reports it
        problem = _problem_with(step_data)
        if problem:
            problems.add(path, problem)
        elif _id_is_fine(path, step_data, problems):
            yield path, step_data


def _items(data: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    if "input" in data:
        yield ("input",), data["input"]
    steps = data.get("steps")
    for at, item in enumerate(steps if isinstance(steps, list) else []):
        yield ("steps", at), item
    if "output" in data:
        yield ("output",), data["output"]


def _problem_with(step_data: dict[str, Any]) -> str | None:
    kinds = [kind for kind in KINDS if kind in step_data]
    if len(kinds) > 1:
        return f"a step has `{kinds[0]}:` and `{kinds[1]}:`; make two steps of it"
    for kind in kinds:
        named = isinstance(step_data[kind], str) and len(step_data[kind]) <= LONGEST_NAME
        return None if named else f"`{kind}:` must be a name of at most {LONGEST_NAME} characters"
    if len(step_data) == 1 and "." in (only := next(iter(step_data))):
        return f"a step is written as {{stage: {only[:80]}, …}}, with its options beside `stage`"
    near = nearest("stage", step_data)
    return "a step needs `stage:`" + (f"; is {near!r} meant to be that?" if near else "")


def _id_is_fine(path: Path, step_data: dict[str, Any], problems: Problems) -> bool:
    given = step_data.get("id")
    if "id" not in step_data or is_id(given):
        return True
    problems.add((*path, "id"), ID_RULE)
    return False


def _ids(step_data: list[tuple[str, str | None]]) -> list[str]:
    taken = {given for _, given in step_data if given}
    ids = []
    for stage, given in step_data:
        made = given or short_name(stage)
        number = 1
        while not given and made in taken:
            number += 1
            made = f"{short_name(stage)}-{number}"
        taken.add(made)
        ids.append(made)
    return ids
