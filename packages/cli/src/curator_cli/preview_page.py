"""Previews as HTML: a page in one file, and the same for notebooks."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_core.errors import OutputError
from curator_core.logs import visible
from curator_core.model.formatting import count, counted
from curator_core.model.secrets import redact
from curator_core.preview import (
    Change,
    DropExample,
    Piece,
    Preview,
    Record,
    RecordPreview,
    StagePreview,
    compare_words,
    facts_line,
    figures,
    main_text,
    measured_values,
    shorten_equal,
    without_source,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_CONTEXT = 300
"""Characters shown around each change."""

_MOST_KEPT, _MOST_PARTS, _FACTS = 100, 12, 600

_LONG = 60
"""Characters of a text that is shown by itself, not among other facts."""


@dataclass(frozen=True)
class Card:
    """A record: what it is, what was changed in it, and a picture if it has one."""

    title: str
    facts: str
    pieces: Sequence[Piece] = ()
    picture: str = ""
    parts: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class StageSection:
    """What one stage did, with examples."""

    name: str
    figures: str
    changes: Sequence[tuple[str, Sequence[Piece]]]
    drops: Sequence[tuple[str, Card | None]]
    failures: Sequence[str]

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.drops or self.failures)


def preview_html(preview: Preview) -> str:
    """Return a preview as HTML with its own style, for a page or a notebook."""
    template = _environment().get_template("preview.html.j2")
    kept = preview.kept_examples()
    examples = [_kept_card(example) for example in kept[:_MOST_KEPT]]
    if not kept:
        examples = [_card("", record) for record in preview.rest[:_MOST_KEPT]]
    head = counted(preview.records, "record")
    if preview.sources:
        head += f" from {counted(len(preview.sources), 'file')}"
    return redact(
        template.render(
            name=preview.name,
            head=head,
            verdict=preview.verdict(),
            stages=list(map(_stage_section, preview.stages)),
            kept=examples,
            hidden=max(0, len(kept) - _MOST_KEPT),
        )
    )


def write_page(preview: Preview) -> str:
    """Write the page into the current folder, replacing an earlier one, and return its path."""
    from curator_report.html import page

    path = Path(f"{_file_name(preview.name)}.preview.html")
    text = page(f"Preview of {preview.name}", preview_html(preview))
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise OutputError(f"cannot write {path.absolute()}: {error.strerror}") from error
    return str(path)


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name)[:60]


def _stage_section(stage: StagePreview) -> StageSection:
    failures: dict[str, int] = {}
    for record in stage.quarantined:
        failures[record.reason] = failures.get(record.reason, 0) + 1
    return StageSection(
        stage.name,
        figures(stage) if stage.counts.tasks_in else "no records reach this stage",
        [(change.column, _change_pieces(change)) for change in stage.changes],
        [_drop(drop, stage.reads) for drop in stage.drops],
        [f"{count(times)} failed: {visible(reason)}" for reason, times in failures.items()],
    )


def _change_pieces(change: Change) -> Sequence[Piece]:
    if change.is_new:
        return [Piece(_text_of(change.after), "inserted")]
    if isinstance(change.before, str) and isinstance(change.after, str):
        return _compared(change.before, change.after)
    return [Piece(_text_of(change.before), "deleted"), Piece(_text_of(change.after), "inserted")]


def _compared(before: str, after: str) -> Sequence[Piece]:
    return _shown(shorten_equal(compare_words(before, after), _CONTEXT))


def _shown(pieces: Iterable[Piece]) -> Sequence[Piece]:
    return [Piece(visible(piece.text), piece.kind) for piece in pieces]


def _text_of(value: Any) -> str:
    return visible(str(value)[:_FACTS])


def _drop(drop: DropExample, reads: Sequence[str]) -> tuple[str, Card | None]:
    title = f"{count(drop.items)} dropped: {drop.reason}"
    if drop.record is None:
        return title, None
    return title, _card(
        "", drop.record, reads, note=measured_values(drop), thumbnail=drop.thumbnail
    )


def _kept_card(example: RecordPreview) -> Card:
    """Return a record with all changes since it was read."""
    picture = _data_url(example.thumbnail)
    before = without_source(example.before, example.source)
    after = [without_source(record, example.source) for record in example.after]
    if len(after) > 1:
        parts = [
            facts_line({name: v for name, v in record.items() if before.get(name) != v}, _FACTS)
            for record in after[:_MOST_PARTS]
        ]
        parts += [f"… {len(after) - _MOST_PARTS:,} more"] if len(after) > _MOST_PARTS else []
        return Card(example.source, facts_line(before, _FACTS), (), picture, parts)
    [record] = after
    column = main_text(record)
    old = before.get(column) if column else None
    if column is None or not isinstance(old, str) or old == record[column]:
        return _card(example.source, record, before=before, thumbnail=example.thumbnail)
    others = {name: value for name, value in record.items() if name != column}
    facts = facts_line(others, _FACTS, before)
    return Card(example.source, facts, _compared(old, record[column]), picture)


def _card(
    title: str,
    record: Record,
    reads: Sequence[str] = (),
    *,
    before: Record | None = None,
    note: str = "",
    thumbnail: bytes | None = None,
) -> Card:
    column = main_text(record, reads)
    text = record[column] if column else ""
    is_long = len(text) > _LONG
    others = {name: v for name, v in record.items() if not (is_long and name == column)}
    pieces = _shown(shorten_equal([Piece(text)], _CONTEXT)) if is_long else ()
    facts = facts_line(others, _FACTS, before)
    return Card(title, facts, pieces, _data_url(thumbnail), (), note)


def _data_url(picture: bytes | None) -> str:
    if not picture:
        return ""
    kind = "jpeg" if picture[:2] == b"\xff\xd8" else "png" if picture[:4] == b"\x89PNG" else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("curator_cli"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
