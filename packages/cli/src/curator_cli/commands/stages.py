"""`curate stages`: list all stages, or explain one."""

from typing import TYPE_CHECKING, Any

import click
from curator_core.errors import CuratorError

from curator_cli.options import with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from collections.abc import Callable

    from curator_core.plugins.catalog import Offer
    from curator_core.plugins.registry import Plugins

    from curator_cli.recipes import OptionHelp, StageHelp


@click.command()
@click.argument("name", required=False)
@with_output
def stages(screen: Screen, name: str | None) -> None:
    """List the stages of all plugins or, with NAME, show one stage and its options."""
    if name is None:
        _list_stages(screen)
    else:
        _explain_stage(screen, name)


def _list_stages(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins

    from curator_cli.recipes.steps import load_stage

    list_offers(
        screen, [offer_row(plugins().stages[name], load_stage) for name in plugins().stages]
    )
    screen.print_line("To explain one: curate stages NAME")


def list_offers(screen: Screen, rows: list[dict[str, Any]]) -> None:
    from curator_report import plain_table
    from rich.text import Text

    screen.print_json(rows)
    for owner in dict.fromkeys(row["owner"] for row in rows):
        table = plain_table("name", "what it does")
        table.show_header = False
        table.columns[-1].no_wrap = False
        for row in (row for row in rows if row["owner"] == owner):
            style = "red" if row["broken"] else ""
            table.add_row(Text(f"  {row['name']}"), Text(row["broken"] or row["doc"], style=style))
        screen.show(owner, style="bold")
        screen.show(table)
    screen.print_line()


def offer_row(offer: "Offer", load: "Callable[[str, Plugins], Any]") -> dict[str, Any]:
    """Describe an entry in one row; list one that does not load with the cause."""
    from curator_core.plugins.registry import plugins

    from curator_cli.recipes.help import doc_of

    row = {"name": offer.name, "owner": offer.owner, "place": offer.place, "doc": "",
           "broken": None}  # fmt: skip
    try:
        return {**row, "doc": doc_of(load(offer.name, plugins())).partition("\n")[0]}
    except CuratorError as error:
        return {**row, "broken": str(error)}


def _explain_stage(screen: Screen, name: str) -> None:
    from dataclasses import asdict

    from curator_cli.recipes import stage_help

    stage = stage_help(name)
    screen.print_json(asdict(stage))
    if screen.as_json:
        return
    screen.show(stage.name, style="bold")
    screen.print_line(f"from {stage.distribution} {stage.version}: {stage.place}")
    screen.print_line(f"takes {stage.input_type}, gives {stage.output_type}")
    if stage.doc:
        screen.print_line()
        screen.print_line(stage.doc)
    show_options(screen, "options", stage.options)
    show_options(screen, "settings of every stage", stage.settings)
    screen.print_line()
    screen.print_line("In a recipe:")
    for line in _example(stage):
        screen.print_line(f"  {line}")


def show_options(screen: Screen, title: str, options: "tuple[OptionHelp, ...]") -> None:
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


def _example(stage: "StageHelp") -> list[str]:
    """Return an example recipe step with the stage's required options."""
    lines = [f"- stage: {stage.name}"]
    return lines + [f"  {o.name}: …  # {o.type}" for o in stage.options if o.required]
