"""`curate stages`, `curate workflows`, `curate plugins` and `curate schema`."""

from typing import TYPE_CHECKING, Any

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen, give_json
from curator_core.errors import CuratorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from curator_core.plugins.catalog import Offer
    from curator_core.plugins.registry import Plugins
    from curator_core.recipes import OptionHelp, StageHelp


@click.command()
@click.argument("name", required=False)
@speaks
def stages(screen: Screen, name: str | None) -> None:
    """List the stages of all plugins or, with NAME, show one stage and its options."""
    if name is None:
        _list_stages(screen)
    else:
        _explain_stage(screen, name)


@click.command()
@click.argument("name", required=False)
@speaks
def workflows(screen: Screen, name: str | None) -> None:
    """List the workflows of all plugins or, with NAME, show one and its options.

    A workflow runs several pipelines, one after another. Run it with `curate PLUGIN WORKFLOW`.
    """
    if name is None:
        _list_workflows(screen)
    else:
        _explain_workflow(screen, name)


def _list_stages(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins
    from curator_core.recipes.steps import load_stage

    _list(screen, [_row(plugins().stages[name], load_stage) for name in plugins().stages])
    screen.say("curate stages NAME explains one of them.")


def _list_workflows(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins
    from curator_core.recipes.workflows import load_workflow

    offered = plugins().workflows
    _list(screen, [_row(offered[name], load_workflow) for name in offered])
    screen.say("curate workflows NAME explains one of them.")


def _list(screen: Screen, rows: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from curator_core.reporting import plain_table

    screen.give(rows)
    for owner in dict.fromkeys(row["owner"] for row in rows):
        table = plain_table("name", "what it does")
        table.show_header = False
        table.columns[-1].no_wrap = False
        for row in (row for row in rows if row["owner"] == owner):
            style = "red" if row["broken"] else ""
            table.add_row(Text(f"  {row['name']}"), Text(row["broken"] or row["doc"], style=style))
        screen.show(owner, style="bold")
        screen.show(table)
    screen.say()


def _row(offer: "Offer", load: "Callable[[str, Plugins], Any]") -> dict[str, Any]:
    """Describe an entry in one row; list one that does not load with the cause."""
    from curator_core.plugins.registry import plugins
    from curator_core.recipes.describing import doc_of

    row = {"name": offer.name, "owner": offer.owner, "place": offer.place, "doc": "",
           "broken": None}  # fmt: skip
    try:
        return {**row, "doc": doc_of(load(offer.name, plugins())).partition("\n")[0]}
    except CuratorError as error:
        return {**row, "broken": str(error)}


def _explain_stage(screen: Screen, name: str) -> None:
    from dataclasses import asdict

    from curator_core.recipes import stage_help

    told = stage_help(name)
    screen.give(asdict(told))
    if screen.as_json:
        return
    screen.show(told.name, style="bold")
    screen.say(f"of {told.distribution} {told.version}, {told.place}")
    screen.say(f"takes {told.takes}, gives {told.gives}")
    if told.doc:
        screen.say()
        screen.say(told.doc)
    _show_options(screen, "options", told.options)
    _show_options(screen, "settings, as every stage has them", told.settings)
    screen.say()
    screen.say("In a recipe:")
    for line in _example(told):
        screen.say(f"  {line}")


def _explain_workflow(screen: Screen, name: str) -> None:
    from dataclasses import asdict

    from curator_core.recipes import workflow_help

    told = workflow_help(name)
    screen.give(asdict(told))
    if screen.as_json:
        return
    screen.show(told.name, style="bold")
    screen.say(f"of {told.distribution} {told.version}, {told.place}")
    if told.doc:
        screen.say()
        screen.say(told.doc)
    _show_options(screen, "options", told.options)
    plugin, _, short = told.name.partition(".")
    required = [option.name for option in told.options if option.required]
    screen.say()
    screen.say("From the shell:")
    words = ["curate", plugin, short.replace("_", "-"), *map(str.upper, required)]
    screen.say(f"  {' '.join(words)} [--option value ...]")
    screen.say()
    screen.say("As a recipe, for curate run:")
    for line in (f"workflow: {told.name}", "options:", *(f"  {name}: …" for name in required)):
        screen.say(f"  {line}")


def _show_options(screen: Screen, title: str, options: "tuple[OptionHelp, ...]") -> None:
    from rich.text import Text

    from curator_core.reporting import plain_table

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
    screen.say()
    screen.show(f"{title}:", style="bold")
    screen.show(table)


def _yaml(value: Any) -> str:
    import json

    return "null" if value is None else json.dumps(value, ensure_ascii=False)


def _example(told: "StageHelp") -> list[str]:
    """Return an example recipe step with the stage's required options."""
    lines = [f"- stage: {told.name}"]
    return lines + [f"  {o.name}: …  # {o.type}" for o in told.options if o.required]


@click.command()
@click.option("--strict", is_flag=True, help="Exit with 1 if a plugin is broken.")
@speaks
def plugins(screen: Screen, strict: bool) -> None:
    """List what each installed package offers, and which plugins are broken and why."""
    from curator_core.plugins.registry import plugins as installed

    found = installed()
    screen.give(found.to_json())
    for info in found.working:
        screen.show(f"{info.distribution or info.name} {info.version}", style="bold")
        for kind, places in info.offers.items():
            if places:
                screen.say(f"  {kind:<10} {_names(list(places))}")
        if not any(info.offers.values()):
            screen.say("  offers nothing yet")
    for broken in found.broken:
        screen.show(f"broken: {broken}", style="red")
    if strict and found.broken:
        raise click.exceptions.Exit(1)


def _names(names: list[str]) -> str:
    """Join the names, or only the first few if there are many."""
    shown = ", ".join(names[:_FEW])
    return shown if len(names) <= _FEW else f"{shown} and {len(names) - _FEW} more"


_FEW = 5


@click.command()
@speaks
def schema(screen: Screen) -> None:
    """Print the JSON Schema of recipes.

    Save it, and begin a recipe with `# yaml-language-server: $schema=FILE`: editors then complete
    and check it.
    """
    from curator_core.recipes import recipe_schema

    give_json(recipe_schema())
