"""`curate plan`."""

from typing import TYPE_CHECKING, Any

import click

from curator_core.cli.concluding import show_workflow_plan
from curator_core.cli.options import Order, executor_for, on_recipe, speaks
from curator_core.cli.screens import Screen

if TYPE_CHECKING:
    from curator_core.plan.plan import Plan, PlannedStage


@click.command()
@on_recipe
@speaks
def plan(screen: Screen, order: Order) -> None:
    """Check a recipe, and show its stages, columns, resources and workers.

    Nothing is run. All problems are shown at once, each with a way to fix it.
    Exit codes: 2 for problems, 5 if only resources are missing.
    """
    recipe = order.recipe()
    executor, why = executor_for(recipe)
    if recipe.workflow is not None:
        show_workflow_plan(screen, recipe, f"{type(executor).__name__} ({why})")
        return
    planned = recipe.pipeline().build(executor)
    name = type(executor).__name__
    screen.give(
        {
            "name": planned.name,
            "executor": name,
            "why": why,
            "fingerprint": planned.fingerprint,
            "stages": [_described(stage, *columns) for stage, *columns in _walk(planned)],
            "notes": list(planned.notes),
        }
    )
    if not screen.as_json:
        _show(screen, planned, f"{name} ({why})")


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


def _described(
    stage: "PlannedStage", before: frozenset[str] | None, after: frozenset[str] | None
) -> dict[str, Any]:
    from curator_core.model.secrets import hidden

    needs = stage.resources
    amounts = {"cpus": needs.cpus, "gpus": needs.gpus, "gpu_memory_gb": needs.gpu_memory_gb,
               "memory_gb": needs.memory_gb, **needs.custom}  # fmt: skip
    described: dict[str, Any] = hidden(stage.describe())
    return {
        **described,
        "takes": stage.takes.__name__,
        "gives": stage.gives.__name__,
        "reads": sorted(stage.stage.inputs()),
        "adds": sorted(stage.stage.outputs()),
        "columns_before": None if before is None else sorted(before),
        "columns_after": None if after is None else sorted(after),
        "resources": {name: amount for name, amount in amounts.items() if amount},
        "workers": stage.num_workers,
        "batch_size": stage.batch_size,
        "on_error": stage.policy.on_error,
    }


def _show(screen: Screen, planned: "Plan", executor: str) -> None:
    from rich.text import Text

    from curator_core.reporting import plain_table
    from curator_core.reporting.summaries import details

    title = f"{planned.name}: {planned.description}" if planned.description else planned.name
    screen.show(title, style="bold")
    table = plain_table("", "stage", "gives", "columns", "needs", numbers=("",))
    for column in table.columns[1:4]:
        column.no_wrap, column.overflow = False, "fold"
    for stage, before, after in _walk(planned):
        columns = Text(_columns(stage, before, after))
        gives = stage.gives.__name__
        table.add_row(str(stage.index + 1), Text(stage.name), gives, columns, _needs(stage))
    screen.show(table)
    screen.show("")
    screen.show(details([("executor", executor), *(("note", said) for said in planned.notes)]))
    screen.show("The plan is sound.", style="green")


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
