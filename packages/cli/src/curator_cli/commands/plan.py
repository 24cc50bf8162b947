"""`curate plan`: check a recipe and show its stages."""

from typing import TYPE_CHECKING, Any

import click
from curator_core.errors import PipelineError

from curator_cli.commands.curation_output import show_curation_plan
from curator_cli.commands.workflow_output import show_workflow_plan
from curator_cli.options import RecipeArguments, executor_for, on_recipe, with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import Plan, PlannedStage


@click.command()
@on_recipe
@with_output
def plan(screen: Screen, arguments: RecipeArguments) -> None:
    """Check a recipe, and show its stages, columns, resources and workers.

    Nothing is run. All problems are shown at once, each with a way to fix it.
    Exit codes: 2 for problems, 5 if only resources are missing.
    """
    from curator_core import find_unreadable_inputs

    recipe = arguments.recipe()
    executor = executor_for(recipe)
    if recipe.workflow is not None:
        show = show_curation_plan if recipe.curation else show_workflow_plan
        show(screen, recipe, f"{type(executor).__name__} ({executor.why_chosen})")
        return
    planned = recipe.pipeline().build(executor)
    if problems := find_unreadable_inputs(planned):
        raise PipelineError(problems)
    name = type(executor).__name__
    screen.print_json(
        {
            "name": planned.name,
            "executor": name,
            "why": executor.why_chosen,
            "fingerprint": planned.fingerprint,
            "stages": [_describe_stage(stage, *columns) for stage, *columns in _walk(planned)],
            "fused": _fused(planned),
            "notes": list(planned.notes),
        }
    )
    if not screen.as_json:
        _show_plan(screen, planned, f"{name} ({executor.why_chosen})")


def _walk(
    planned: "Plan",
) -> "list[tuple[PlannedStage, frozenset[str] | None, frozenset[str] | None]]":
    """Return each stage with the columns before and after it; None where they are unknown."""
    found = []
    columns: frozenset[str] | None = None
    for stage in planned.stages:
        before = columns if stage.index else frozenset()
        columns = stage.stage.columns_after(columns)
        found.append((stage, before, columns))
    return found


def _describe_stage(
    stage: "PlannedStage", before: frozenset[str] | None, after: frozenset[str] | None
) -> dict[str, Any]:
    from curator_core.model.secrets import mask_secrets

    needs = stage.resources
    amounts = {"cpus": needs.cpus, "gpus": needs.gpus, "gpu_memory_gb": needs.gpu_memory_gb,
               "memory_gb": needs.memory_gb, **needs.custom}  # fmt: skip
    described: dict[str, Any] = mask_secrets(stage.describe())
    return {
        **described,
        "input_type": stage.input_type.__name__,
        "output_type": stage.output_type.__name__,
        "reads": sorted(stage.stage.inputs()),
        "adds": sorted(stage.stage.outputs()),
        "columns_before": None if before is None else sorted(before),
        "columns_after": None if after is None else sorted(after),
        "resources": {name: amount for name, amount in amounts.items() if amount},
        "workers": stage.num_workers,
        "batch_size": stage.batch_size,
        "on_error": stage.policy.on_error,
    }


def _show_plan(screen: Screen, planned: "Plan", executor: str) -> None:
    from curator_report import plain_table
    from curator_report.summary import details
    from rich.text import Text

    title = f"{planned.name}: {planned.description}" if planned.description else planned.name
    screen.show(title, style="bold")
    is_wide = screen.console.width >= _WIDE
    heads = ("", "stage", *(("output",) if is_wide else ()), "columns", "needs")
    table = plain_table(*heads, numbers=("",))
    for column in table.columns[1:-1]:
        column.no_wrap, column.overflow = False, "fold"
    longest = max(len(stage.name) for stage in planned.stages)
    table.columns[1].min_width = min(longest, _LONG_NAME)
    for stage, before, after in _walk(planned):
        columns = Text(_columns(stage, before, after))
        output = (stage.output_type.__name__,) if is_wide else ()
        number = str(stage.index + 1)
        table.add_row(number, Text(stage.name), *output, columns, _needs(stage))
    screen.show(table)
    screen.show("")
    facts = [("executor", executor)]
    facts += [("fused", f"{', '.join(names)}: merged into one step") for names in _fused(planned)]
    screen.show(details([*facts, *(("note", note) for note in planned.notes)]))
    screen.show("The plan is valid.", style="green")


_WIDE = 100
"""Columns of a terminal that has room for the types of outputs."""

_LONG_NAME = 45
"""Names up to this length are never broken."""


def _fused(planned: "Plan") -> list[list[str]]:
    """Return the names of the stages that run as one, for each fused step."""
    return [[part.name for part in step.members] for step in planned.steps if step.members]


def _columns(
    stage: "PlannedStage", before: frozenset[str] | None, after: frozenset[str] | None
) -> str:
    """Describe the columns that a stage reads, adds (`+`) and removes (`-`)."""
    parts = [f"reads {', '.join(stage.stage.inputs())}"] if stage.stage.inputs() else []
    if after is not None and before is not None:
        parts += [f"+{name}" for name in sorted(after - before)]
        parts += [f"-{name}" for name in sorted(before - after)]
    else:
        parts += [f"+{name}" for name in stage.stage.outputs()]
    return " ".join(parts)


def _needs(stage: "PlannedStage") -> str:
    needs = stage.resources
    amounts = [
        (needs.cpus, "CPU"),
        (needs.gpus, "GPU"),
        (needs.gpu_memory_gb, "GB GPU"),
        (needs.memory_gb, "GB"),
        *((amount, name) for name, amount in needs.custom.items()),
    ]
    parts = [f"{amount:g} {name}" for amount, name in amounts if amount]
    if stage.num_workers is not None:
        parts.append(f"{stage.num_workers} workers")
    if stage.batch_size > 1:
        parts.append(f"batches of {stage.batch_size}")
    return ", ".join(parts)
