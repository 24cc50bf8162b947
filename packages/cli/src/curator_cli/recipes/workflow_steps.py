"""Workflow steps of recipes: workflows between stages, and the curation that the steps make."""

from collections.abc import Mapping, Sequence
from typing import Any

from curator_core import AnyStage, Curation, Workflow, WorkflowStep
from curator_core.errors import CuratorError, PipelineError, PluginError
from curator_core.model.secrets import redact
from curator_core.plugins.registry import Plugins

from curator_cli.recipes.interpolation import Substitution
from curator_cli.recipes.option_validation import OptionContext, validated
from curator_cli.recipes.options import OptionTable
from curator_cli.recipes.problems import Problems
from curator_cli.recipes.recipe_step import RecipeStep
from curator_cli.recipes.workflows import ChosenWorkflow, load_workflow, workflow_table


def step_table(kind: type[Workflow]) -> OptionTable:
    """Return the options of a workflow that remain when it is a step."""
    table = workflow_table(kind)
    chosen = set(kind.step_options.values())
    return OptionTable({n: option for n, option in table.options.items() if n not in chosen})


def build_workflow_step(
    step: RecipeStep, plugins: Plugins, problems: Problems
) -> WorkflowStep | None:
    """Return the workflow of a step, or None if there are problems."""
    try:
        kind = load_workflow(step.stage, plugins)
        context = OptionContext(step.path, step.label)
        values = validated(step_table(kind), Substitution(problems), step.values, context)
        return None if values is None else kind.step(step.id, **values)
    except PluginError as error:
        is_stage = step.stage in plugins.stages
        text = f"{step.stage!r} is a stage; write `stage: {step.stage}`" if is_stage else str(error)
        problems.add((*step.path, "workflow"), redact(text))
    except CuratorError as error:
        problems.add((*step.path, "workflow"), redact(f"{step.label}: {error}"))
    return None


def build_curation(
    name: str,
    description: str,
    steps: Sequence[AnyStage | WorkflowStep | None],
    settings: Mapping[str, Any],
    run: Mapping[str, Any],
    problems: Problems,
) -> ChosenWorkflow | None:
    """Return the curation of a recipe with workflows between its steps; None if it has none."""
    if not any(isinstance(step, WorkflowStep) for step in steps) or None in steps:
        return None
    known = [step for step in steps if step is not None]
    options: Any = {key: value for key, value in settings.items() if key != "allow_empty"}
    try:
        curation = Curation(
            known,
            name,
            description,
            work_dir=run.get("run_dir"),
            keep_intermediate=bool(run.get("keep_intermediate")),
            **options,
        )
        _ = curation.parts
    except PipelineError as error:
        problems.add(("steps",), redact(str(error)))
        return None
    return ChosenWorkflow(name, curation, {})
