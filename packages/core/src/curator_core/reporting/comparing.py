"""Comparison with the previous run of the same recipe."""

from collections.abc import Iterator
from html import escape
from typing import Any

from curator_core.io.filesystems import base_name, join, open_filesystem, parent_of
from curator_core.model.records import StageCounts
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.figures import count, duration
from curator_core.reporting.fragments import figures_table
from curator_core.run.directory import RunDirectory, differences

_MOST_ROWS = 40
_WORTH_TELLING_S = 1.0


def previous_of(record: RunRecord) -> dict[str, Any] | None:
    """Return the finished run that this one replaced, or the latest of its name next to it."""
    replaced = RunDirectory(record.path).previous()
    if replaced is not None:
        return replaced
    earlier = [
        facts
        for facts in _beside(record.path)
        if facts.get("name") == record.name and facts.get("status") == "done"
    ]
    began = record.facts.get("started") or 0.0
    earlier = [facts for facts in earlier if facts.get("started", 0.0) < began]
    return max(earlier, key=lambda facts: float(facts.get("started", 0.0)), default=None)


def _beside(path: str) -> Iterator[dict[str, Any]]:
    fs, root = open_filesystem(path)
    home = parent_of(root)
    if base_name(home) != ".curator":
        return
    for entry in fs.ls(home, detail=False):
        folder = str(entry).rstrip("/")
        if folder != root.rstrip("/") and fs.exists(join(folder, "run.json")):
            yield RunDirectory(folder).facts() or {}


def comparison(record: RunRecord) -> str:
    """List the options, versions and counts that changed; nothing without a previous run."""
    before = previous_of(record)
    if before is None:
        return ""
    lines = [*_changes(before, record.facts)]
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines[:_MOST_ROWS])
    told = f"<ul>{listed}</ul>" if listed else "<p>The same stages, options and versions.</p>"
    rows = list(_rows(before.get("result") or {}, record))
    head = ("", "before", "now", "change")
    return told + (figures_table(head, rows[:_MOST_ROWS]) or "<p>The same counts.</p>")


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    if before.get("fingerprint") != now.get("fingerprint"):
        yield from differences(before.get("plan", []), now.get("plan", []))
    for what in ("executor", "python"):
        if before.get(what) != now.get(what):
            yield f"{what} {before.get(what)} became {now.get(what)}"
    old, new = before.get("packages", {}), now.get("packages", {})
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'none')} became {new.get(name, 'none')}"


def _rows(before: dict[str, Any], record: RunRecord) -> Iterator[list[str]]:
    old_s, new_s = float(before.get("seconds", 0.0)), record.result.seconds
    if abs(new_s - old_s) > max(_WORTH_TELLING_S, 0.1 * old_s):
        yield ["time", duration(old_s), duration(new_s), _change(old_s, new_s)]
    said = before.get("stages", {})
    for name, counts in record.result.stages.items():
        if name not in said:
            continue
        old = StageCounts.from_json(said[name])
        for what, was, has in (
            ("in", old.items_in, counts.items_in),
            ("out", old.items_out, counts.items_out),
            ("dropped", old.items_dropped, counts.items_dropped),
            ("failed", _failed(old), _failed(counts)),
        ):
            if was != has:
                yield [f"{escape(name)}: {what}", count(was), count(has), _change(was, has)]


def _failed(counts: StageCounts) -> int:
    return counts.items_failed + counts.items_rejected


def _change(before: float, now: float) -> str:
    return f"{100 * (now - before) / before:+.1f} %" if before else "new"
