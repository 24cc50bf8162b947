"""`curate preview`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from curator_cli.options import RecipeArguments, on_recipe, with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from curator_core.preview import Change, DropExample, Preview, StagePreview

MOST_CHANGES = 4
MOST_KEPT = 3
_FEW_BYTES = 32
"""Bytes up to this length, such as hashes, are shown in hexadecimal."""

_INDENT = 4


@click.command()
@on_recipe
@click.option(
    "-n",
    "records",
    default=20,
    show_default=True,
    type=click.IntRange(1),
    help="Number of sample records.",
)
@with_output
def preview(screen: Screen, arguments: RecipeArguments, records: int) -> None:
    """Show what each stage does to a sample of records. Nothing is written.

    The sample comes from files all over the input, and is the same each time.
    Shows for each stage how many records came in and went out, what it changed, and what it
    dropped and why.
    """
    from curator_core.preview import preview as previewed

    recipe = arguments.recipe()
    executor = recipe.executor()
    plan = recipe.pipeline().build(executor)
    seen = previewed(plan, records)
    screen.print_json({"name": plan.name, **_to_json(seen)})
    if not screen.as_json:
        _show(screen, plan.name, seen)


def _to_json(seen: "Preview") -> dict[str, Any]:
    facts = asdict(seen)
    for stage, found in zip(facts["stages"], seen.stages, strict=True):
        stage["counts"] = found.counts.to_json()
        for record in stage["quarantined"]:
            del record["payload"], record["subtask"]
    return facts


def _show(screen: Screen, name: str, seen: "Preview") -> None:
    from curator_core.model.formatting import counted

    source = f" from {seen.sources[0]}" if seen.sources else ""
    others = f" and {counted(len(seen.sources) - 1, 'more source')}" if seen.sources[1:] else ""
    screen.show(f"{name}: {counted(seen.records, 'record')}{source}{others}", style="bold")
    for stage in seen.stages:
        _show_stage(screen, stage)
    screen.print_line()
    left_out = f"; {', '.join(seen.left_out)} skipped, nothing written" if seen.left_out else ""
    screen.show(f"{counted(seen.kept, 'record')} would be kept{left_out}", style="bold")
    for record in seen.rest[:MOST_KEPT]:
        _show_line(screen, f"such as {_excerpt(record, (), screen.console.width)}", "dim")


def _show_stage(screen: Screen, stage: "StagePreview") -> None:
    from rich.text import Text

    counts = stage.counts
    screen.print_line()
    title = Text(stage.name, style="bold")
    if not counts.tasks_in:
        screen.show(title.append("  no records reach this stage", style="dim"))
        return
    screen.show(title.append(f"  {_figures(stage)}", style="not bold"))
    for change in stage.changes[:MOST_CHANGES]:
        _show_change(screen, change)
    for drop in stage.drops:
        _show_drop(screen, drop, stage.reads)
    for record in stage.quarantined:
        where = f" ({record.where or record.source})" if record.where or record.source else ""
        _show_line(screen, f"failed: {record.reason}{where}", "red")


def _figures(stage: "StagePreview") -> str:
    from curator_core.model.formatting import count

    counts = stage.counts
    if stage.drew:
        return "sampled"
    parts = [f"{count(counts.items_in)} in", f"{count(counts.items_out)} out"]
    if counts.items_dropped:
        parts.append(f"{count(counts.items_dropped)} dropped")
    failed = counts.items_failed + counts.items_rejected
    if failed:
        parts.append(f"{count(failed)} failed")
    if stage.changed:
        parts.append(f"{count(stage.changed)} changed")
    return ", ".join(parts)


def _show_change(screen: Screen, change: "Change") -> None:
    from curator_core.preview import around_difference

    width = max(30, screen.console.width - _INDENT - 12)
    if change.is_new:
        _show_line(screen, f"+ {change.column}: {_short(change.after, width)}", "green")
        return
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str):
        before, after = around_difference(before, after, width - len(change.column))
    _show_line(screen, f"- {change.column}: {_quote(before)}", "red")
    _show_line(screen, f"+ {change.column}: {_quote(after)}", "green")


def _show_drop(screen: Screen, drop: "DropExample", reads: tuple[str, ...]) -> None:
    from curator_core.model.formatting import count

    _show_line(screen, f"dropped {count(drop.items)}: {drop.reason}", "yellow")
    if drop.record:
        _show_line(screen, f"  such as {_excerpt(drop.record, reads, screen.console.width)}", "dim")


def _show_line(screen: Screen, text: str, style: str) -> None:
    from rich.text import Text

    line = Text(" " * _INDENT + text, style=style)
    screen.console.print(line, no_wrap=True, overflow="ellipsis")


def _excerpt(record: dict[str, Any], reads: tuple[str, ...], width: int) -> str:
    """Return the longest text that the stage read, or else the longest one of the record."""
    columns = [column for column in reads if column in record] or list(record)
    texts = [value for column in columns if isinstance(value := record[column], str)]
    return _short(max(texts, key=len) if texts else record, width - 20)


def _short(value: Any, width: int) -> str:
    from curator_core.model.formatting import shortened

    return shortened(_quote(value), width)


def _quote(value: Any) -> str:
    """Quote a text so that whitespace is visible; of long bytes show only the number."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= _FEW_BYTES else f"<{len(value):,} bytes>"
    if isinstance(value, dict):
        inside = ", ".join(f"{name}: {_quote(one)}" for name, one in value.items())
        return f"{{{inside}}}"
    return repr(value)
