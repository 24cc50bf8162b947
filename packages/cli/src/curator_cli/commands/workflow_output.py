"""Plans and results of workflows, as `curate` shows them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from curator_core.errors import PipelineError

from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core import Workflow, WorkflowResult

    from curator_cli.recipes import Recipe
    from curator_cli.recipes.workflows import ChosenWorkflow

Line = tuple[str, str]


def show_workflow_plan(screen: Screen, recipe: "Recipe", executor: str) -> None:
    """Show the workflow's options and folder; raise if there are problems with them."""
    from curator_report.summary import details

    from curator_cli.recipes.options import Option
    from curator_cli.recipes.workflows import workflow_table

    chosen = recipe.workflow
    if chosen is None:
        raise PipelineError(f"{recipe.document.file}: the recipe has no workflow")
    allow_empty = bool(recipe.settings.get("allow_empty"))
    chosen.workflow.refuse_problems(allow_empty=allow_empty)
    table = workflow_table(type(chosen.workflow)).options
    options = {n: table.get(n, Option(n)).shown(value) for n, value in chosen.values.items()}
    text = {"workflow": chosen.name, "executor": executor, "work_dir": chosen.workflow.work_dir}
    screen.print_json({"name": recipe.name, **text, "options": options})
    if screen.as_json:
        return
    screen.show(f"{recipe.name}: {recipe.description or chosen.name}", style="bold")
    lines = [(name, str(value)) for name, value in options.items()]
    screen.show(details([*lines, ("executor", executor), ("kept in", text["work_dir"])]))
    screen.show("The options are sound.", style="green")


def show_workflow(
    screen: Screen, chosen: "ChosenWorkflow", result: "WorkflowResult", *, quiet: bool
) -> None:
    """Show how the workflow ended, what it counted, and where its files are."""
    from curator_report.summary import details

    workflow = chosen.workflow
    screen.print_json({"workflow": chosen.name, "work_dir": workflow.work_dir, **result.to_json()})
    if screen.as_json or quiet:
        return
    screen.show(_verdict(workflow.name, result), style="bold green")
    report = [("report", result.report)] if result.report else []
    lines = [
        *_metadata(result.metadata),
        *quarantine_lines(result),
        *file_lines(workflow, result),
        *report,
    ]
    screen.show(details(lines))


def _verdict(name: str, result: "WorkflowResult") -> str:
    from curator_core.model.formatting import duration

    steps = ", ".join(result.runs)
    if result.did_nothing:
        return f"{name} is finished already: nothing to do ({steps} done before)"
    return f"{name} is done: {steps} in {duration(result.seconds)}"


def _metadata(metadata: dict[str, Any]) -> Iterator[Line]:
    for name, value in metadata.items():
        rows = value if isinstance(value, list) else [value]
        for at, row in enumerate(rows):
            facts = row.items() if isinstance(row, dict) else [("", row)]
            text = ", ".join(_format_fact(key, fact) for key, fact in facts)
            yield "" if at else name.replace("_", " "), text


def _format_fact(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{name} {value:,}".strip() if is_count else f"{name} {value}".strip()


def quarantine_lines(result: "WorkflowResult") -> Iterator[Line]:
    from curator_core.model.formatting import shortened
    from curator_report.summary import MOST_FAILURES

    for name, done in result.runs.items():
        for at, record in enumerate(done.quarantined[:MOST_FAILURES]):
            where = f"{record.where or record.source}: " if record.where or record.source else ""
            text = shortened(f"{where}{record.reason}", 300)
            yield "quarantined" if not at else "", text
        if done.quarantined:
            yield "", f"{len(done.quarantined):,} in all, in {done.run_dir}/quarantine ({name})"


def file_lines(workflow: "Workflow", result: "WorkflowResult") -> Iterator[Line]:
    from collections import Counter

    from curator_core.io.filesystems import parent_of
    from curator_core.model.formatting import counted

    folders = Counter(map(parent_of, workflow.final_run(result).files))
    for at, (folder, files) in enumerate(folders.most_common(MOST_FOLDERS)):
        yield "" if at else "files", f"{counted(files, 'file')} in {folder}"


MOST_FOLDERS = 3
