"""`curate new`."""

import os
import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from curator_cli.inspection.goals import GOALS
from curator_cli.options import with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core.preview import Preview

    from curator_cli.inspection.proposal import Proposal


@click.command()
@click.argument("file", metavar="[NAME.yaml]", required=False)
@click.option(
    "--from",
    "path",
    required=True,
    metavar="DATA",
    help="Your files: a folder, a file or a pattern.",
)
@click.option("--goal", type=click.Choice(list(GOALS)), help="What the data is for.")
@click.option("--force", is_flag=True, help="Replace the recipe if it exists.")
@with_output
def new(screen: Screen, file: str | None, path: str, goal: str | None, force: bool) -> None:
    """Write a recipe for your own files.

    Looks at a sample of them: formats, columns, languages, lengths, duplicates, sizes. The limits
    in the recipe come from that sample, each with a comment that says what it drops. Then shows a
    preview of what the recipe would keep.
    """
    from curator_core.errors import OutputError
    from curator_core.plugins.registry import plugins
    from curator_core.preview import preview as run_preview

    from curator_cli.inspection.inspect import inspect_files
    from curator_cli.recipes import load_recipe

    name = _recipe_name(file, path)
    target = Path(file or f"{name}.yaml")
    if target.exists() and not force:
        raise OutputError(f"{target} exists already; name another file, or replace it with --force")
    proposal = inspect_files(path, goal, name, plugins())
    proposal.command = _command(path, goal)
    text = proposal.to_yaml(quote(str(target)))
    plan = load_recipe(text).first_pipeline().build()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    _show_proposal(screen, proposal, target)
    seen = run_preview(plan, 20)
    _show_rest(screen, proposal, seen, target)
    screen.print_json(_to_json(proposal, seen, target))


def _recipe_name(file: str | None, path: str) -> str:
    """Return a name for the recipe: that of its file, or of the user's folder."""
    plain = path.split("*")[0].rstrip("/") or "."
    given = Path(file).stem if file else Path(os.path.abspath(plain)).stem
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", given).strip("_-")
    return name[:60] or "recipe"


def _command(path: str, goal: str | None) -> str:
    return f"curate new --from {quote(path)}" + (f" --goal {goal}" if goal else "")


def _next_commands(proposal: "Proposal", target: Path) -> list[str]:
    file = quote(str(target))
    return [
        f"curate preview {file} --html",
        f"curate run {file}",
        *proposal.next_commands,
    ]


def _show_proposal(screen: Screen, proposal: "Proposal", target: Path) -> None:
    from rich.text import Text

    width = max(len(label) for label, _ in proposal.findings)
    for label, text in proposal.findings:
        for number, line in enumerate(_lines(text, screen.console.width - width - 2)):
            head = label if not number else ""
            screen.show(Text.assemble((head.ljust(width + 2), "bold"), line))
    for note in proposal.notes:
        screen.show(Text(f"note: {note}", style="yellow"))
    screen.print_line()
    screen.print_line(f"wrote {target}")


def _lines(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, max(20, width))


def _show_rest(screen: Screen, proposal: "Proposal", seen: "Preview", target: Path) -> None:
    from curator_cli.commands.preview import show_preview

    screen.print_line()
    show_preview(screen, seen, brief=True)
    screen.print_line()
    screen.print_line("Next:")
    for command in _next_commands(proposal, target):
        screen.print_line(f"  {command}")


def _to_json(proposal: "Proposal", seen: "Preview", target: Path) -> dict[str, Any]:
    return {
        "recipe": str(target),
        "findings": dict(proposal.findings),
        "notes": proposal.notes,
        "steps": [step.stage for step in proposal.steps],
        "preview": seen.to_json(),
        "next": _next_commands(proposal, target),
    }
