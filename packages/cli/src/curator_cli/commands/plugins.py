"""`curate plugins`: what each package offers, and which plugins are broken."""

import click

from curator_cli.options import with_output
from curator_cli.output import Screen, wrap


@click.command()
@click.option("--strict", is_flag=True, help="Exit with 1 if a plugin is broken.")
@with_output
def plugins(screen: Screen, strict: bool) -> None:
    """List what each installed package offers, and which plugins are broken and why."""
    from curator_core.plugins.registry import plugins as installed

    found = installed()
    screen.print_json(found.to_json())
    for info in found.working:
        screen.show(f"{info.distribution or info.name} {info.version}", style="bold")
        for kind, places in info.offers.items():
            if places:
                line = f"  {kind.replace('_', ' '):<15} {_names(list(places))}"
                screen.print_line(wrap(line, screen.console.width, indent=" " * 18))
        if not any(info.offers.values()):
            screen.print_line("  offers nothing")
    for broken in found.broken:
        screen.show(f"broken: {broken}", style="red")
    if strict and found.broken:
        raise click.exceptions.Exit(1)


def _names(names: list[str]) -> str:
    """Join the names, or only the first few if there are many."""
    shown = ", ".join(names[:_FEW])
    return shown if len(names) <= _FEW else f"{shown} and {len(names) - _FEW} more"


_FEW = 5
