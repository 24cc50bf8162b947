"""Previews as lines of text, for terminals and `print`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from curator_core.logs import visible
from curator_core.model.formatting import count, counted, shortened
from curator_core.model.records import QuarantineRecord
from curator_core.preview.differences import (
    Piece,
    compare_words,
    middle_shortened,
    shorten_equal,
)
from curator_core.preview.records import (
    Change,
    DropExample,
    Record,
    RecordPreview,
    StagePreview,
    main_text,
    without_source,
)

Span: TypeAlias = tuple[str, str]
"""A text and its style: bold, dim, deleted, inserted, dropped, failed, or "" for none."""

Line: TypeAlias = list[Span]

_MOST_CHANGES, _MOST_REASONS, _MOST_PARTS = 4, 8, 3
_MOST_LINES = 6
"""Limit for the text of one record, so that several records fit on a screen."""

_CONTEXT = 60
"""Characters shown around each change."""

_FEWEST_SPACES = 4
"""Texts of fewer words, such as paths, are shown as a fact beside others."""


@dataclass(frozen=True)
class PreviewLayout:
    """Lines of a width. Without colours, changes are marked `[-old-]{+new+}`."""

    width: int = 80
    colored: bool = False

    def stage(self, stage: StagePreview) -> Iterator[Line]:
        counts = stage.counts
        if not counts.tasks_in:
            yield [(stage.name, "bold"), ("  no records reach this stage", "dim")]
            return
        yield from self.wrap([(stage.name, "bold"), (f"  {figures(stage)}", "")])
        for change in stage.changes[:_MOST_CHANGES]:
            yield from self.change(change)
        for drop in stage.drops[:_MOST_REASONS]:
            yield from self._drop(drop, stage.reads)
        if len(stage.drops) > _MOST_REASONS:
            more = counted(len(stage.drops) - _MOST_REASONS, "more reason")
            yield [(f"    … {more}", "dim")]
        yield from self._failures(stage.quarantined)

    def brief_stage(self, stage: StagePreview) -> Iterator[Line]:
        """Yield the numbers of a stage, and the reasons of drops and failures."""
        if stage.drew and not (stage.drops or stage.quarantined):
            return
        what = figures(stage) if stage.counts.tasks_in else "no records reach this stage"
        yield from self.wrap([(f"  {stage.name}  ", ""), (what, "dim")])
        for drop in stage.drops[:_MOST_REASONS]:
            reason = f"dropped {count(drop.items)}: {drop.reason}"
            yield from self.wrap([(reason, "dropped")], indent=4, most=2)
        yield from self._failures(stage.quarantined)

    def change(self, change: Change) -> Iterator[Line]:
        """Yield a changed column; of a text only the neighbourhood of each change."""
        name = f"{change.column}: "
        if change.is_new:
            value = middle_shortened(_value(change.after), 3 * self.width)
            spans = [(f"+ {name}", "inserted"), (value, "inserted")]
            yield from self.wrap(spans, indent=4, most=3)
            return
        spans = [(f"~ {name}", "dim"), *self._marked(_difference(change))]
        yield from self.wrap(spans, indent=4)

    def _marked(self, pieces: Iterable[Piece]) -> Iterator[Span]:
        marks = {"equal": ("", ""), "deleted": ("[-", "-]"), "inserted": ("{+", "+}")}
        for piece in pieces:
            before, after = ("", "") if self.colored else marks[piece.kind]
            text = _on_one_line(piece.text)
            if piece.kind != "equal" and piece.text.isspace():
                text = text.replace(" ", "·")
            yield f"{before}{text}{after}", "" if piece.kind == "equal" else piece.kind

    def _drop(self, drop: DropExample, reads: Sequence[str]) -> Iterator[Line]:
        reason = f"dropped {count(drop.items)}: {drop.reason}"
        yield from self.wrap([(reason, "dropped")], indent=4)
        if measured := measured_values(drop):
            yield from self.wrap([(measured, "dim")], indent=6)
        if drop.record:
            yield from self.record(drop.record, reads, indent=6, most=2)

    def _failures(self, records: Iterable[QuarantineRecord]) -> Iterator[Line]:
        by_reason = sorted(records, key=lambda record: record.reason)
        for reason, failed in groupby(by_reason, lambda record: record.reason):
            first, *others = list(failed)
            where = f" ({first.where or first.source})" if first.where or first.source else ""
            more = f" and {len(others)} more like it" if others else ""
            yield from self.wrap([(f"failed: {reason}{where}{more}", "failed")], indent=4)

    def example(self, example: RecordPreview) -> Iterator[Line]:
        """Show a record as it was read, with the changes that all stages made to it."""
        if example.source:
            yield [("  ", ""), (_end_of(example.source, self.width - 2), "dim")]
        before = without_source(example.before, example.source)
        after = [without_source(record, example.source) for record in example.after]
        if len(after) > 1:
            yield from self.record(before, (), indent=2, most=3)
            for record in after[:_MOST_PARTS]:
                new = {name: v for name, v in record.items() if before.get(name) != v}
                spans = [("+ ", "inserted"), (facts_line(new, 200), "")]
                yield from self.wrap(spans, indent=4, most=2)
            if len(after) > _MOST_PARTS:
                yield [(f"    … {len(after) - _MOST_PARTS:,} more of it", "dim")]
            return
        yield from self.record(after[0], (), indent=2, before=before)

    def record(
        self,
        record: Record,
        reads: Sequence[str],
        *,
        indent: int,
        most: int = _MOST_LINES,
        before: Record | None = None,
    ) -> Iterator[Line]:
        """Yield a record: a line of facts, and its text, with the changes since `before`."""
        before = before or {}
        text_column = main_text(record, reads)
        if text_column is not None and not _is_prose(record, text_column, before):
            text_column = None
        others = {name: record[name] for name in record if name != text_column}
        facts = facts_line(others, 2 * self.width, before)
        if facts:
            yield from self.wrap([(facts, "")], indent=indent, most=2)
        if text_column is None:
            return
        text, old = record[text_column], before.get(text_column)
        if isinstance(old, str) and old != text:
            pieces = shorten_equal(compare_words(old, text), _CONTEXT)
        else:
            pieces = [Piece(middle_shortened(text, max(1, most - 1) * (self.width - indent)))]
        spans = [(f"{text_column}: ", "dim"), *self._marked(pieces)]
        yield from self.wrap(spans, indent=indent, most=most)

    def wrap(
        self, spans: Iterable[Span], *, indent: int = 0, most: int = _MOST_LINES
    ) -> Iterator[Line]:
        """Break spans into lines between words, at most so many; the last one ends with `…`."""
        room = max(20, self.width - indent)
        lines: list[Line] = [[]]
        used = 0
        for word, style in _words(spans, room):
            if used and used + len(word.rstrip()) > room:
                lines.append([])
                used = 0
            lines[-1].append((word, style))
            used += len(word)
        if len(lines) > most:
            lines = lines[:most]
            lines[-1] = [*_cut(lines[-1], room - 2), (" …", "dim")]
        for line in lines:
            merged = [("".join(text for text, _ in same), style)
                      for style, same in groupby(line, lambda span: span[1])]  # fmt: skip
            if merged:
                last, style = merged[-1]
                merged[-1] = (last.rstrip(), style)
            yield [(" " * indent, ""), *merged] if indent else merged


def measured_values(drop: DropExample) -> str:
    """Return the limits that the example breaks, or else what was measured on it."""
    return ", ".join(drop.limits) or facts_line(drop.values, 60)


def figures(stage: StagePreview) -> str:
    """Return what went into a stage, and what became of it."""
    counts = stage.counts
    if stage.drew:
        return "sampled"
    parts = [f"{count(counts.items_in)} in", f"{count(counts.items_out)} out"]
    failed = counts.items_failed + counts.items_rejected
    for number, what in (
        (counts.items_dropped, "dropped"),
        (failed, "failed"),
        (stage.changed, "changed"),
    ):
        parts += [f"{count(number)} {what}"] if number else []
    return ", ".join(parts)


def _difference(change: Change) -> list[Piece]:
    if isinstance(change.before, str) and isinstance(change.after, str):
        return shorten_equal(compare_words(change.before, change.after), _CONTEXT)
    return [Piece(_value(change.before), "deleted"), Piece(_value(change.after), "inserted")]


def _is_prose(record: Record, column: str, before: Record) -> bool:
    is_changed = isinstance(before.get(column), str) and before[column] != record[column]
    return is_changed or column == "text" or record[column].count(" ") >= _FEWEST_SPACES


def facts_line(record: Record, most: int, before: Record | None = None) -> str:
    """Return the columns of a record in one line, with long values shortened."""
    parts = []
    for name, value in record.items():
        old = (before or {}).get(name)
        was = f"{_value(old, 48)} → " if old is not None and old != value else ""
        parts += [f"{name} {was}{_value(value, 48)}"] if value is not None else []
    return shortened(", ".join(parts), most)


def _value(value: Any, most: int = 400) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return middle_shortened(_on_one_line(value), most) if most > 48 else shortened(value, most)
    return shortened(str(value), most)


def _on_one_line(text: str) -> str:
    """Show line breaks and tabs, which would spoil the layout."""
    shown = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return visible(shown)


def _end_of(path: str, most: int) -> str:
    return path if len(path) <= most else f"…{path[1 - most :]}"


def _words(spans: Iterable[Span], room: int) -> Iterator[Span]:
    """Yield words with the space after them; words that are wider than a line are divided."""
    for text, style in spans:
        start = 0
        while start < len(text):
            end = text.find(" ", start) + 1 or len(text)
            end = min(end, start + room)
            yield text[start:end], style
            start = end


def _cut(line: Line, room: int) -> Line:
    """Return as much of a line as fits."""
    shown: Line = []
    for text, style in line:
        shown.append((text[: max(0, room)], style))
        room -= len(text)
    return shown
