"""`curate workflows`: list and explain workflows."""

import click

from curator_cli.options import with_output
from curator_cli.output import Screen
from curator_cli.stage_display import show_facts, show_groups, show_options, show_snippets


@click.command()
@click.argument("name", required=False)
@with_output
def workflows(screen: Screen, name: str | None) -> None:
    """List the workflows of all plugins or, with NAME, show one and its options.

    A workflow runs several pipelines, one after another. Run it with `curate PLUGIN WORKFLOW`.
    """
    if name is None:
        _list_workflows(screen)
    else:
        explain_workflow(screen, name)


def _list_workflows(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins

    from curator_cli.stage_index import list_installed

    listed = list_installed(plugins(), "workflow")
    screen.print_json([one.to_json() for one in listed])
    if screen.as_json:
        return
    show_groups(screen, listed)
    screen.print_line("To explain one: curate workflows NAME")


def explain_workflow(screen: Screen, name: str) -> None:
    """Show one workflow, its options and examples."""
    from dataclasses import asdict

    from curator_cli.recipes import workflow_help

    workflow = workflow_help(name)
    screen.print_json(asdict(workflow))
    if screen.as_json:
        return
    screen.show(workflow.name, style="bold")
    if workflow.doc:
        screen.print_text(workflow.doc)
        screen.print_line()
    show_facts(screen, workflow)
    show_options(screen, "options", workflow.options)
    plugin, _, short = workflow.name.partition(".")
    required = [option.name for option in workflow.options if option.required]
    screen.print_line()
    screen.print_line("From the shell:")
    words = ["curate", plugin, short.replace("_", "-"), *map(str.upper, required)]
    screen.print_line(f"  {' '.join(words)} [--option value ...]")
    show_snippets(screen, workflow.recipe, workflow.python)
