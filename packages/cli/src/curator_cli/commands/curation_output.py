"""Plans and results of curations, as `curate` shows them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from curator_cli.commands.workflow_output import file_lines, quarantine_lines
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import Curation, WorkflowResult

    from curator_cli.recipes import Recipe
    from curator_cli.recipes.recipe_step import RecipeStep


def show_curation_plan(screen: Screen, recipe: "Recipe", executor: str) -> None:
    """Show the parts of the curation with their steps; raise if there are problems with them."""
    from curator_report import plain_table
    from curator_report.summary import details
    from rich.text import Text

    curation = recipe.curation
    assert curation is not None
    curation.refuse_problems(allow_empty=bool(recipe.settings.get("allow_empty")))
    parts = list(_steps_by_part(recipe, curation))
    screen.print_json(
        {
            "name": recipe.name,
            "executor": executor,
            "work_dir": curation.work_dir,
            "parts": [
                {"name": name, "steps": [_step_facts(recipe, step) for step in steps]}
                for name, steps in parts
            ],
        }
    )
    if screen.as_json:
        return
    screen.show(f"{recipe.name}: {recipe.description}".rstrip(": "), style="bold")
    table = plain_table("part", "step", "does", "options")
    table.columns[3].no_wrap, table.columns[3].overflow = False, "fold"
    for name, steps in parts:
        for at, step in enumerate(steps):
            options = _step_facts(recipe, step)["options"]
            text = ", ".join(f"{option}={value}" for option, value in options.items())
            table.add_row("" if at else name, Text(step.id), Text(step.stage), Text(text))
    screen.show(table)
    screen.show("")
    kept = "kept" if curation.keep_intermediate else "removed at the end"
    files = f"{curation.work_dir}, {kept}"
    screen.show(details([("executor", executor), ("intermediate files", files)]))
    screen.show("The plan is valid.", style="green")


def _steps_by_part(
    recipe: "Recipe", curation: "Curation"
) -> "Iterator[tuple[str, list[RecipeStep]]]":
    from curator_core import StagesPart

    steps = list(recipe.steps)
    for part in curation.parts:
        if isinstance(part, StagesPart):
            end = next((at for at, s in enumerate(steps) if s.kind == "workflow"), len(steps))
            yield part.pipeline.name, steps[:end]
            steps = steps[end:]
        else:
            yield part.name, steps[:1]
            steps = steps[1:]


def _step_facts(recipe: "Recipe", step: "RecipeStep") -> dict[str, Any]:
    from curator_cli.recipes.options import Option
    from curator_cli.recipes.steps import table_of

    known = table_of(step, recipe.plugins).options
    options = {name: known.get(name, Option(name)).shown(v) for name, v in step.values.items()}
    return {"id": step.id, step.kind: step.stage, "options": options}


def show_curation(
    screen: Screen, curation: "Curation", result: "WorkflowResult", *, quiet: bool
) -> None:
    """Show how many records each part kept, and where the output is."""
    from curator_report.summary import details

    head = {"workflow": curation.name, "work_dir": curation.work_dir}
    screen.print_json({**head, **result.to_json()})
    if screen.as_json or quiet:
        return
    screen.show(_verdict(curation, result), style="bold green")
    lines = [
        *_funnel(curation, result),
        *quarantine_lines(result),
        *file_lines(curation, result),
    ]
    lines += [("report", result.report)] if result.report else []
    screen.show(details(lines))


def _verdict(curation: "Curation", result: "WorkflowResult") -> str:
    from curator_core.model.formatting import duration

    if not result.runs:
        return f"{curation.name} is finished already: nothing to do"
    return f"{curation.name} is done in {duration(result.seconds)}"


def _funnel(curation: "Curation", result: "WorkflowResult") -> "Iterator[tuple[str, str]]":
    """Yield one line for each part: how many records it kept, and what dropped the others."""
    from curator_core import WorkflowPart
    from curator_core.model.formatting import count, counted

    for part in curation.parts:
        if isinstance(part, WorkflowPart):
            facts = result.metadata.get(part.name, {})
            if "kept" in facts:
                removed = f"; {counted(facts['removed'], 'duplicate')} removed"
                yield part.name, f"{counted(facts['kept'], 'record')} kept{removed}"
        elif (run := result.runs.get(part.pipeline.name)) is not None:
            *stages, last = run.stages.items()
            dropped = [
                f"{name} dropped {count(counts.items_dropped)}"
                for name, counts in stages
                if counts.items_dropped
            ]
            kept = f"{counted(last[1].items_in, 'record')} kept"
            yield part.pipeline.name, "; ".join([kept, *dropped])
