"""The pictures section of a run's report: kept pictures and each rule's drops."""

from collections.abc import Iterator

from curator_core import InputError
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.exhibits import Exhibit, fitting, where_more_is

from curator_image.reporting.records import Record, records_in
from curator_image.reporting.rules import Sorted, rules_of, sample_of
from curator_image.reporting.styles import STYLE
from curator_image.reporting.thumbnails import thumbnail

LOOKED_AT, SHOWN = 500, 12
"""Kept small: the report at the end of a run may take a second, not a minute."""


def pictures(run: RunRecord, room: int) -> Exhibit:
    """Return a sheet of each kind, as many as there is room for."""
    more = where_more_is(run, "image report")
    sheets = ((title, _sheet(records)) for title, records in _sorts(_looked_at(run)))
    html = fitting(sheets, room - len(more) - len(STYLE))
    if not html:
        raise InputError(f"run {run.path} left no pictures to be shown")
    return Exhibit("Pictures", html + more, STYLE)


def _sheet(records: list[Record]) -> str:
    shown = "".join(thumbnail(one.image, one.name) for one in records)
    return f'<div class="sheet">{shown}</div>'


def _sorts(found: Sorted) -> Iterator[tuple[str, list[Record]]]:
    sorts = [("Kept to the end", found.kept)]
    sorts += [(f"Dropped by {rule.name}", rule.examples) for rule in found.rules.values()]
    for title, records in sorts:
        there = sample_of(record for record in records if record.image is not None)
        if there:
            yield title, there[:SHOWN]


def _looked_at(run: RunRecord) -> Sorted:
    kept_path, dropped_path = _folders_of(run)
    found = rules_of(run)
    for record in records_in(kept_path, LOOKED_AT):
        found.add_kept(record)
    for record in records_in(dropped_path, LOOKED_AT):
        found.add_dropped(record)
    return found


def _folders_of(run: RunRecord) -> tuple[str, str]:
    """Return the output and dropped paths of the last writer."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options and "path" in options:
            return str(options["path"]), str(options["dropped_path"] or "")
    raise InputError(f"run {run.path} wrote no pictures")
