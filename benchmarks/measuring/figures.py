"""Figures: what was measured, beside what it should be."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One line of the table. `met=None` says that it could not be measured, and `value` why."""

    what: str
    target: str
    value: str
    met: bool | None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: "-"}[self.met]


def show(figures: Sequence[Figure]) -> None:
    table = Table(title=f"Measured on {os.cpu_count()} cores, Python {platform.python_version()}")
    table.add_column("what", ratio=3)
    table.add_column("target", ratio=2)
    table.add_column("measured", ratio=2)
    table.add_column("met", no_wrap=True)
    for figure in figures:
        color = {True: "green", False: "red", None: "yellow"}[figure.met]
        verdict = f"[{color}]{figure.verdict}[/]"
        table.add_row(figure.what, figure.target, escape(figure.value), verdict)
    Console().print(table)


def save(figures: Sequence[Figure], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"python": platform.python_version(), "cores": os.cpu_count()}
    listed = [asdict(figure) for figure in figures]
    path.write_text(json.dumps({**facts, "figures": listed}, indent=2) + "\n")
