"""`curate doctor`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen

if TYPE_CHECKING:
    from rich.table import Table

    from curator_core.diagnosing import Finding

_STYLES = {"ok": "green", "warn": "bold yellow", "note": "dim"}
_SIGNS = {"ok": "ok", "warn": "!!", "note": "--"}


@click.command()
@click.option("--strict", is_flag=True, help="Exit with 1 if anything is not well.")
@speaks
def doctor(screen: Screen, strict: bool) -> None:
    """Check your installation and hardware.

    Shows versions, CPUs, memory, GPUs, disks, executors and plugins.
    """
    from curator_core.diagnosing import diagnose

    findings = diagnose()
    unwell = [finding for finding in findings if finding.state == "warn"]
    screen.give({"well": not unwell, "findings": [asdict(finding) for finding in findings]})
    if not screen.as_json:
        screen.show(_drawn(findings))
        screen.show(_verdict(len(unwell)), style="bold yellow" if unwell else "bold green")
    if strict and unwell:
        raise click.exceptions.Exit(1)


def _drawn(findings: "list[Finding]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        said = Text(finding.said)
        if finding.way_out:
            said.append(f"\n→ {finding.way_out}", style=_STYLES[finding.state])
        sign = Text(_SIGNS[finding.state], style=_STYLES[finding.state])
        table.add_row(sign, Text(finding.name), said)
    return table


def _verdict(unwell: int) -> str:
    from curator_core.reporting.figures import counted

    return f"{counted(unwell, 'thing')} to look at." if unwell else "All is well."
