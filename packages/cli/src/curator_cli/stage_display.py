"""How `curate stages` and `curate workflows` show what they list and explain."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curator_cli.output import Screen

if TYPE_CHECKING:
    from rich.table import Table

    from curator_cli.recipes import OptionHelp, StageHelp, WorkflowHelp
    from curator_cli.stage_index import Listed


def show_groups(screen: Screen, listed: "Sequence[Listed]") -> None:
    """Show stages or workflows by group."""
    from curator_core.plugins.groups import GROUPS

    for group in GROUPS:
        inside = [one for one in listed if one.description.group is group]
        _show_group(screen, f"{group.name}: {group.about}", inside)


def _show_group(screen: Screen, title: str, listed: "Sequence[Listed]") -> None:
    from rich.text import Text

    if not listed:
        return
    table = names_table()
    for one in listed:
        style = "red" if one.broken else ""
        text = one.broken or one.description.summary
        table.add_row(Text(f"  {one.description.name}"), Text(text, style=style))
    screen.show(title, style="bold")
    screen.show(table)
    screen.print_line()


def names_table() -> "Table":
    """Return a table of names, each with what it does."""
    from curator_report import plain_table

    table = plain_table("name", "what it does")
    table.show_header = False
    table.columns[-1].no_wrap = False
    return table


def show_facts(
    screen: Screen, explained: "StageHelp | WorkflowHelp", more: Sequence[tuple[str, str]] = ()
) -> None:
    """Show where a stage or workflow is from, and what has to be installed besides its package."""
    from curator_report.summary import details

    facts = [
        ("group", explained.group),
        ("package", f"{explained.distribution} {explained.version}"),
        ("class", explained.place),
        *more,
    ]
    for extra in explained.extras:
        state = f"not installed: {', '.join(extra.missing)}" if extra.missing else "installed"
        facts.append(("needs", f"pip install '{extra.requirement}' ({state})"))
    screen.show(details(facts))


def show_snippets(screen: Screen, recipe: str, python: str) -> None:
    for title, text in (("In a recipe:", recipe), ("In Python:", python)):
        screen.print_line()
        screen.print_line(title)
        for line in text.splitlines():
            screen.print_line(f"  {line}".rstrip())


def show_options(screen: Screen, title: str, options: "Sequence[OptionHelp]") -> None:
    from curator_report import plain_table
    from rich.text import Text

    if not options:
        return
    table = plain_table("option", "type", "default", "what it does")
    for column in table.columns[1:]:
        column.no_wrap = False
    for option in options:
        default = "required" if option.required else _yaml(option.default)
        style = "yellow" if option.required else ""
        table.add_row(
            Text(f"  {option.name}"),
            Text(option.type),
            Text(default, style=style),
            Text(option.doc),
        )
    screen.print_line()
    screen.show(f"{title}:", style="bold")
    screen.show(table)


def _yaml(value: Any) -> str:
    import json

    return "null" if value is None else json.dumps(value, ensure_ascii=False)
