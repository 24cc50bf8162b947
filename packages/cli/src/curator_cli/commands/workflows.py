"""`curate workflows`: list all workflows, or explain one."""

import click

from curator_cli.commands.stages import list_offers, offer_row, show_options
from curator_cli.options import with_output
from curator_cli.output import Screen


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
        _explain_workflow(screen, name)


def _list_workflows(screen: Screen) -> None:
    from curator_core.plugins.registry import plugins

    from curator_cli.recipes.workflows import load_workflow

    offered = plugins().workflows
    list_offers(screen, [offer_row(offered[name], load_workflow) for name in offered])
    screen.print_line("To explain one: curate workflows NAME")


def _explain_workflow(screen: Screen, name: str) -> None:
    from dataclasses import asdict

    from curator_cli.recipes import workflow_help

    workflow = workflow_help(name)
    screen.print_json(asdict(workflow))
    if screen.as_json:
        return
    screen.show(workflow.name, style="bold")
    screen.print_line(f"of {workflow.distribution} {workflow.version}, {workflow.place}")
    if workflow.doc:
        screen.print_line()
        screen.print_line(workflow.doc)
    show_options(screen, "options", workflow.options)
    plugin, _, short = workflow.name.partition(".")
    required = [option.name for option in workflow.options if option.required]
    screen.print_line()
    screen.print_line("From the shell:")
    words = ["curate", plugin, short.replace("_", "-"), *map(str.upper, required)]
    screen.print_line(f"  {' '.join(words)} [--option value ...]")
    screen.print_line()
    screen.print_line("As a recipe, for curate run:")
    for line in (f"workflow: {workflow.name}", "options:", *(f"  {name}: …" for name in required)):
        screen.print_line(f"  {line}")
