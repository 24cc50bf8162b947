"""Tables about stages, for terminals."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from curator_core import StageCounts
from curator_core.logs import visible
from curator_core.model.formatting import count, counted, size

from curator_report.failures import Failure, summarize

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table
    from rich.text import Text

MOST_ROWS = 16
"""Keeps a closing summary short; the report has all stages."""

_WIDE = 120
_STATUS_STYLES = {"failed": "red", "dropped": "yellow"}


def console(*, stderr: bool = False) -> "Console":
    """Return a console without markup; outside of a terminal it is not limited to 80 columns."""
    made = _visible_console()(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = max(made.width, _WIDE)
    return made


@cache
def _visible_console() -> "type[Console]":
    """Return a Console class that makes control characters in untrusted text visible."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(
            self, renderable: "RenderableType", options: "ConsoleOptions | None" = None
        ) -> "Iterator[Segment]":
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return VisibleConsole


def plain_table(*columns: str, numbers: Iterable[str] = ()) -> "Table":
    """Return a table in our common style. Columns named in `numbers` are aligned right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    right = set(numbers)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True)
    return table


def stage_table(
    stages: Mapping[str, StageCounts],
    failures: Iterable[Failure] = (),
    most_rows: int | None = MOST_ROWS,
    *,
    has_reasons: bool = True,
) -> "Table":
    """Show the counts of each stage, and the reasons of drops and failures."""
    found = list(failures)
    shown = _most_important(stages, most_rows)
    columns = shown_columns(stages[name] for name in shown)
    why = ("why",) if has_reasons else ()
    table = plain_table("stage", *columns, *why, numbers=columns)
    table.columns[0].no_wrap = False
    if has_reasons:
        table.columns[-1].no_wrap = False
    table.columns[0].min_width = len("stage")
    for name in shown:
        counts = stages[name]
        reasons = summarize(counts, [f for f in found if f.stage == name])
        cells = [_cut(reasons, "dim")] if has_reasons else []
        table.add_row(_cut(name), *figures_of(counts, columns), *cells)
    if len(shown) < len(stages):
        hidden = counted(len(stages) - len(shown), "more stage")
        table.add_row(_cut(f"… {hidden}", "dim"))
    return table


_COLUMNS: Mapping[str, Callable[[StageCounts], float]] = {
    "files": lambda counts: counts.files,
    "in": lambda counts: counts.records_in,
    "out": lambda counts: counts.records_out,
    "dropped": lambda counts: counts.items_dropped,
    "failed": lambda counts: counts.items_failed + counts.items_rejected,
    "bytes": lambda counts: counts.bytes_out,
}
"""Files, records and bytes of a stage. `in` and `out` are records."""

_ALWAYS = ("in", "out", "dropped")


def shown_columns(stages: Iterable[StageCounts], *, has_bytes: bool = True) -> list[str]:
    """Return the columns for some stages: without files, failures or bytes if there are none."""
    listed = list(stages)
    return [
        name
        for name, read in _COLUMNS.items()
        if (name in _ALWAYS or any(map(read, listed))) and (has_bytes or name != "bytes")
    ]


def figures_of(counts: StageCounts, columns: Iterable[str]) -> "list[Text]":
    """Return the cells of these columns. Cells of files or bytes that a stage has not are empty."""
    return [_figure(name, _COLUMNS[name](counts), counts) for name in columns]


def _figure(name: str, value: float, counts: StageCounts) -> "Text":
    from rich.text import Text

    if name == "bytes":
        return Text(size(value) if value else "")
    if not value and (name == "files" or (name in ("in", "out") and counts.files)):
        return Text("")
    return number(value, name)


def _cut(text: str, style: str = "") -> "Text":
    """Return a text that is cut to one line."""
    from rich.text import Text

    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def number(value: float, kind: str = "") -> "Text":
    from rich.text import Text

    return Text(count(value), style=_STATUS_STYLES.get(kind, "") if value else "dim")


def _most_important(stages: Mapping[str, StageCounts], most: int | None) -> list[str]:
    """Choose the first two stages, the last, and the ones that kept most back; all if they fit."""
    names = list(stages)
    if most is None or len(names) <= most:
        return names

    ends = [names[0], names[1], names[-1]]
    others = (name for name in names if name not in ends)
    ranked = sorted(others, key=lambda name: -stages[name].items_not_kept)
    chosen = {*ends, *ranked[: most - len(ends)]}
    return [name for name in names if name in chosen]
