"""Comparison with the previous run of the same recipe."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import StageCounts
from curator_core.io.filesystems import base_name, join, open_filesystem, parent_of
from curator_core.model.formatting import count, duration
from curator_core.run.directory import RunDirectory, differences

from curator_report.run_record import RunRecord

_MOST_ROWS = 40
_RELEVANT_S = 1.0


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


@dataclass(frozen=True)
class Comparison:
    """The options, versions and counts that changed since the previous run."""

    changes: Sequence[str]
    rows: Sequence[Sequence[str]]


def compare_with_previous(record: RunRecord) -> Comparison | None:
    """Return what changed; None without a previous run."""
    before = previous_of(record)
    if before is None:
        return None
    changes = list(_changes(before, record.facts))
    rows = list(_rows(before.get("result") or {}, record))
    return Comparison(changes[:_MOST_ROWS], rows[:_MOST_ROWS])


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
    if abs(new_s - old_s) > max(_RELEVANT_S, 0.1 * old_s):
        yield ["time", duration(old_s), duration(new_s), _change(old_s, new_s)]
    stages_before = before.get("stages", {})
    for name, counts in record.result.stages.items():
        if name not in stages_before:
            continue
        old = StageCounts.from_json(stages_before[name])
        for what, was, has in (
            ("files", old.files, counts.files),
            ("in", old.records_in, counts.records_in),
            ("out", old.records_out, counts.records_out),
            ("dropped", old.items_dropped, counts.items_dropped),
            ("failed", _failed(old), _failed(counts)),
        ):
            if was != has:
                yield [f"{name}: {what}", count(was), count(has), _change(was, has)]


def _failed(counts: StageCounts) -> int:
    return counts.items_failed + counts.items_rejected


def _change(before: float, now: float) -> str:
    return f"{100 * (now - before) / before:+.1f} %" if before else "new"
