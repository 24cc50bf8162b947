"""Workflow of a recipe: built from its name and options."""

from dataclasses import dataclass
from typing import Any

from curator_core import Workflow
from curator_core.errors import PluginError
from curator_core.model.secrets import redact
from curator_core.plugins.registry import Plugins

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.option_validation import OptionContext, validated
from curator_cli.recipes.options import OptionTable, options_of
from curator_cli.recipes.problems import Path, Problems

KEY, OPTIONS = "workflow", "options"

_NOT_BESIDE = ("input", "steps", "output", "errors")
"""Sections that only recipes of a single pipeline have."""


@dataclass(frozen=True)
class ChosenWorkflow:
    """A workflow that a recipe asks for, built and checked."""

    name: str
    """Its registered name."""

    workflow: Workflow
    values: dict[str, Any]
    """The given options, converted to their types."""


def load_workflow(name: str, plugins: Plugins) -> type[Workflow]:
    """Load a workflow class by its registered name."""
    found = plugins.workflows.load(name)
    if isinstance(found, type) and issubclass(found, Workflow):
        return found
    place = plugins.workflows.find(name).place
    raise PluginError(f"{name!r} is offered as a workflow, but {place} is none")


def build_workflow(plugins: Plugins, problems: Problems) -> ChosenWorkflow | None:
    """Return the workflow that a recipe names; None if it names none, or if there are problems."""
    data = problems.document.data
    if KEY not in data:
        if OPTIONS in data:
            problems.add((OPTIONS,), "`options:` are those of a `workflow:`, and there is none")
        return None
    for section in _NOT_BESIDE:
        if section in data:
            problems.add((section,), f"`{section}:` has no place beside `workflow:`: {_REMEDY}")
    if isinstance(data.get("run"), dict) and "run_dir" in data["run"]:
        problems.add(("run", "run_dir"), "run: a workflow has no run_dir; its files are kept where "
                     "its own options say")  # fmt: skip
    name, given = data[KEY], data.get(OPTIONS) or {}
    if isinstance(name, str) and isinstance(given, dict):
        return _create_workflow(name, given, plugins, problems)
    return None


_REMEDY = "its options belong under `options:`"


def workflow_table(kind: type[Workflow]) -> OptionTable:
    return options_of(kind)


def _create_workflow(
    name: str, given: dict[str, Any], plugins: Plugins, problems: Problems
) -> ChosenWorkflow | None:
    path: Path = (OPTIONS,)
    try:
        kind = load_workflow(name, plugins)
        values = validated(
            workflow_table(kind),
            Substitution(problems),
            given,
            OptionContext(path, f"workflow {name!r}"),
        )
    except PluginError as error:
        problems.add((KEY,), redact(str(error)))
        return None
    if values is None:
        return None
    try:
        return ChosenWorkflow(name, kind(**values), values)
    except Exception as error:  # noqa: BLE001 - the class's own checks may raise anything
        problems.add(path, redact(f"workflow {name!r}: {error or type(error).__name__}"))
        return None
