"""The command group `curate`: imports each command only when it is called."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click

from curator_core.errors import PluginError, hint

_HERE = "curator_core.cli"


@dataclass(frozen=True)
class Entry:
    """A built-in command, and its help in the list of commands."""

    place: str
    help: str


COMMANDS: Mapping[str, Entry] = {
    "init": Entry(f"{_HERE}.starting:init", "Write a starter recipe, or a package of your own."),
    "plan": Entry(f"{_HERE}.planning:plan", "Check a recipe, and show what it would do."),
    "preview": Entry(f"{_HERE}.previewing:preview", "Show what each stage does to a sample."),
    "run": Entry(f"{_HERE}.running:run", "Run a recipe, or go on where it stopped."),
    "status": Entry(f"{_HERE}.inspecting:status", "Show how far a run is."),
    "report": Entry(f"{_HERE}.inspecting:report", "Show what a run did, and write a page of it."),
    "statistics": Entry(
        f"{_HERE}.statistics:statistics", "Show the statistics of data that a run collected."
    ),
    "retry": Entry(f"{_HERE}.running:retry", "Try again what a run has in quarantine."),
    "stages": Entry(f"{_HERE}.listing:stages", "List all stages, or explain one."),
    "workflows": Entry(f"{_HERE}.listing:workflows", "List all workflows, or explain one."),
    "plugins": Entry(f"{_HERE}.listing:plugins", "List what is installed, and what is broken."),
    "metrics-config": Entry(
        f"{_HERE}.monitoring:metrics_config", "Write settings for Prometheus and Grafana."
    ),
    "schema": Entry(f"{_HERE}.listing:schema", "Print the JSON Schema of recipes, for editors."),
    "doctor": Entry(f"{_HERE}.diagnosing:doctor", "Look this machine over."),
}


class Commands(click.Group):
    """Built-in commands and those of plugins, imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_of_plugins(), *_groups()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name].place.partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        if cmd_name in _of_plugins():
            return plugin_command(cmd_name)
        return _group_of(cmd_name) if cmd_name in _groups() else None

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
        alone = {name: owner for name, owner in _of_plugins().items() if "." not in name}
        rows = [(name, f"of {owner}") for name, owner in alone.items()]
        rows += [(name, ", ".join(inside)) for name, inside in _groups().items()]
        if rows:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(rows)


def _of_plugins() -> dict[str, str]:
    """Map the commands of plugins to the distributions that offer them."""
    from curator_core.plugins.registry import plugins

    offered = plugins().commands
    return {name: offered[name].owner for name in offered if name not in COMMANDS}


def _groups() -> dict[str, list[str]]:
    """Map plugins to the short names of their workflows and commands."""
    from curator_core.plugins.registry import plugins

    found: dict[str, list[str]] = {}
    taken = (*COMMANDS, *_of_plugins())
    for name in (*plugins().workflows, *_of_plugins()):
        plugin = name.partition(".")[0]
        if plugin not in taken:
            found.setdefault(plugin, []).append(short_name(name))
    return found


def short_name(name: str) -> str:
    """Return the name of a workflow or command without its plugin's name."""
    return (name.partition(".")[2] or name).replace("_", "-")


def _group_of(plugin: str) -> click.Command:
    from curator_core.cli.workflows import PluginGroup
    from curator_core.plugins.registry import plugins

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
            f"command {name!r} of {offer.owner} is no command of click but a "
            f"{type(found).__name__}; decorate {offer.place} with @click.command()"
        )
    return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="curator-core", prog_name="curate")
def curate() -> None:
    """Turn raw text, images, video and audio into training data.

    \b
    Begin with:
      curate init                 write a starter recipe and a little data
      curate preview recipe.yaml  see what each stage does to a sample
      curate run recipe.yaml      run it; run it again to resume
    """
