"""The command group `curate`: imports each command only when it is called."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click
from curator_core.errors import PluginError, hint

from curator_cli.options import short_name

_HERE = "curator_cli.commands"


@dataclass(frozen=True)
class Entry:
    """A built-in command, and its help in the list of commands."""

    place: str
    help: str


COMMANDS: Mapping[str, Entry] = {
    "init": Entry(f"{_HERE}.init:init", "Write a starter recipe, or a package of your own."),
    "new": Entry(f"{_HERE}.new:new", "Write a recipe for your own files."),
    "plan": Entry(f"{_HERE}.plan:plan", "Check a recipe, and show what it would do."),
    "preview": Entry(f"{_HERE}.preview:preview", "Show what each stage does to a sample."),
    "run": Entry(f"{_HERE}.run:run", "Run a recipe; run it again to resume."),
    "status": Entry(f"{_HERE}.status:status", "Show the progress of a run."),
    "report": Entry(f"{_HERE}.report:report", "Show what a run did, and write the report page."),
    "card": Entry(f"{_HERE}.card:card", "Write a dataset card about a run, for Hugging Face."),
    "statistics": Entry(
        f"{_HERE}.statistics:statistics", "Show the data statistics that a run collected."
    ),
    "retry": Entry(f"{_HERE}.retry:retry", "Retry the quarantined tasks and records of a run."),
    "stages": Entry(f"{_HERE}.stages:stages", "List, search and explain stages."),
    "workflows": Entry(f"{_HERE}.workflows:workflows", "List and explain workflows."),
    "plugins": Entry(f"{_HERE}.plugins:plugins", "List installed and broken plugins."),
    "metrics-config": Entry(
        f"{_HERE}.metrics_config:metrics_config", "Write settings for Prometheus and Grafana."
    ),
    "schema": Entry(f"{_HERE}.schema:schema", "Print the JSON Schema of recipes, for editors."),
    "doctor": Entry(f"{_HERE}.doctor:doctor", "Check your installation and hardware."),
}


class CommandGroup(click.Group):
    """Built-in commands and those of plugins, imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_plugin_commands(), *_plugin_groups()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name].place.partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        if cmd_name in _plugin_commands():
            return plugin_command(cmd_name)
        return _make_group(cmd_name) if cmd_name in _plugin_groups() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            raise click.UsageError(
                f"no command named {name!r}{hint(name, self.list_commands(ctx))}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])
        alone = {name: owner for name, owner in _plugin_commands().items() if "." not in name}
        rows = [(name, f"of {owner}") for name, owner in alone.items()]
        rows += [(name, ", ".join(inside)) for name, inside in _plugin_groups().items()]
        if rows:
            with formatter.section("Plugin commands"):
                formatter.write_dl(rows)


def _plugin_commands() -> dict[str, str]:
    """Map the commands of plugins to the distributions that offer them."""
    from curator_core.plugins.registry import plugins

    offered = plugins().commands
    return {name: offered[name].owner for name in offered if name not in COMMANDS}


def _plugin_groups() -> dict[str, list[str]]:
    """Map plugins to the short names of their workflows and commands."""
    from curator_core.plugins.registry import plugins

    found: dict[str, list[str]] = {}
    taken = (*COMMANDS, *_plugin_commands())
    for name in (*plugins().workflows, *_plugin_commands()):
        plugin = name.partition(".")[0]
        if plugin not in taken:
            found.setdefault(plugin, []).append(short_name(name))
    return found


def _make_group(plugin: str) -> click.Command:
    from curator_core.plugins.registry import plugins

    from curator_cli.commands.workflow import PluginGroup

    offers = [(plugins().workflows, name) for name in plugins().workflows]
    offers += [(plugins().commands, name) for name in plugins().commands]
    owner = next(
        catalog[name].owner for catalog, name in offers if name.partition(".")[0] == plugin
    )
    return PluginGroup(plugin, owner, plugin_command)


def plugin_command(name: str) -> click.Command:
    from curator_core.plugins.registry import plugins

    found = plugins().commands.load(name)
    if not isinstance(found, click.Command):
        offer = plugins().commands.find(name)
        raise PluginError(
            f"command {name!r} of {offer.owner} is not a click command but a "
            f"{type(found).__name__}; decorate {offer.place} with @click.command()"
        )
    return found


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="curator-cli", prog_name="curate")
def curate() -> None:
    """Turn raw text, images, video and audio into training data.

    \b
    Get started:
      curate init                 write a starter recipe and a little data
      curate preview recipe.yaml  see what each stage does to a sample
      curate run recipe.yaml      run it; run it again to resume
    """
