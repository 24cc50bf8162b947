"""`curate stages`: list, search and explain stages."""

from typing import TYPE_CHECKING

import click

from curator_cli.options import with_output
from curator_cli.output import Screen
from curator_cli.stage_display import (
    names_table,
    show_facts,
    show_groups,
    show_options,
    show_snippets,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from curator_core.plugins.index import Description
    from curator_core.plugins.search import Query
    from rich.table import Table


@click.command()
@click.argument("name", required=False)
@click.option("--search", metavar="WORDS", help="Find stages and workflows by words.")
@with_output
def stages(screen: Screen, name: str | None, search: str | None) -> None:
    """List all stages by group or, with NAME, show one with its options and an example.

    With --search, find stages and workflows whose names, summaries, groups or options
    have these words, or words with the same meaning.
    """
    from curator_core.plugins.registry import plugins

    if search is not None:
        if name is not None:
            raise click.UsageError("give NAME or --search, not both")
        _search(screen, search)
    elif name is None:
        _list_stages(screen)
    elif name in plugins().workflows and name not in plugins().stages:
        from curator_cli.commands.workflows import explain_workflow

        explain_workflow(screen, name)
    else:
        _explain_stage(screen, name)


def _list_stages(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins

    from curator_cli.stage_index import list_installed

    listed = list_installed(plugins(), "stage")
    screen.print_json([one.to_json() for one in listed])
    if screen.as_json:
        return
    show_groups(screen, listed)
    screen.print_line("To search: curate stages --search WORDS")
    screen.print_line("To explain one: curate stages NAME")


def _search(screen: Screen, text: str) -> None:
    from curator_core.plugins.registry import plugins
    from curator_core.plugins.search import Query

    from curator_cli.stage_index import list_installed, list_missing

    kinds = ("stage", "workflow")
    listed = {one.description.name: one for one in list_installed(plugins(), *kinds)}
    missing = list(list_missing(plugins(), *kinds))
    query = Query(text)
    here = [one.description for one in listed.values()]
    matches = query.search([*here, *missing])
    found = [match.description for match in matches if match.description.name in listed]
    elsewhere = [match.description for match in matches if match.description.name not in listed]
    near = [] if matches else query.nearest_words([*here, *missing])
    screen.print_json(
        {
            "query": text,
            "found": [listed[one.name].to_json() for one in found],
            "not_installed": [
                {**one.to_json(), "install": f"pip install {one.distribution}"} for one in elsewhere
            ],
            "nearest_words": near,
        }
    )
    if screen.as_json:
        return
    if not matches:
        screen.print_line(f"Nothing found for {text!r}.")
        if near:
            screen.print_line(f"Similar words: {', '.join(near)}")
        screen.print_line("To list all stages: curate stages")
        return
    if found:
        screen.show(_matches_table(query, found))
        screen.print_line()
        screen.print_line(f"To explain one: curate stages {found[0].name}")
    if elsewhere:
        screen.show("Not installed:", style="bold")
        screen.show(_matches_table(query, elsewhere))
        screen.print_line()
        names = dict.fromkeys(one.distribution for one in elsewhere)
        screen.print_line(f"To install: pip install {' '.join(names)}")


def _matches_table(query: "Query", found: "Iterable[Description]") -> "Table":
    """Return a table with the words that fit highlighted."""
    from rich.text import Text

    table = names_table()
    for one in found:
        kind = " (workflow)" if one.kind == "workflow" else ""
        row = [Text(one.name), Text(f"{one.summary}{kind}")]
        for cell in row:
            cell.highlight_regex(query.pattern, style="bold yellow")
        table.add_row(*row)
    return table


def _explain_stage(screen: Screen, name: str) -> None:
    from dataclasses import asdict

    from curator_cli.recipes import stage_help

    stage = stage_help(name)
    screen.print_json(asdict(stage))
    if screen.as_json:
        return
    screen.show(stage.name, style="bold")
    if stage.doc:
        screen.print_text(stage.doc)
        screen.print_line()
    takes = f"{stage.input_type}{_columns(', reads', stage.reads)}"
    returns = f"{stage.output_type}{_columns(', adds', stage.adds)}"
    show_facts(screen, stage, [("takes", takes), ("returns", returns)])
    show_snippets(screen, stage.recipe, stage.python)
    show_options(screen, "options", stage.options)
    show_options(screen, "settings of every stage", stage.settings)


def _columns(head: str, names: tuple[str, ...]) -> str:
    return f"{head} {', '.join(names)}" if names else ""
