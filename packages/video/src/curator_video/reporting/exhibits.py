"""The clips section of a run's report: filmstrips of kept clips and of each filter's drops."""

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from html import escape

from curator_core import InputError
from curator_core.io.filesystems import base_name
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.exhibits import Exhibit, fitting, where_more_is

from curator_video.reporting.records import Record, records_in
from curator_video.reporting.strips import strip
from curator_video.reporting.styles import STYLE
from curator_video.reporting.timelines import clock

LOOKED_AT, KEPT, DROPPED, MOST_FILTERS = 500, 6, 3, 6
"""Kept small: the report is made at the end of the run, and each strip must be decoded."""


def clips(run: RunRecord, room: int) -> Exhibit:
    """Return strips of each kind, as many as there is room for."""
    records = list(records_in(_folder_of(run), LOOKED_AT))
    more = where_more_is(run, "video report")
    strips = ((title, _strips(shown)) for title, shown in _sorts(records))
    html = fitting(strips, room - len(more) - len(STYLE))
    if not html:
        raise InputError(f"run {run.path} has written no clips")
    return Exhibit("Clips", html + more, STYLE)


def _strips(records: Sequence[Record]) -> str:
    return f'<div class="strips">{"".join(map(_figure, records))}</div>'


def _folder_of(run: RunRecord) -> str:
    for stage in reversed(run.facts.get("plan", [])):
        if str(stage.get("stage", "")).startswith("curator_video.writing."):
            return str(stage["options"]["path"])
    raise InputError(f"run {run.path} wrote no clips")


def _sorts(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    kept = [record for record in records if record.dropped_by is None]
    if kept:
        yield "Kept", _sample(kept, KEPT)
    filters = dict.fromkeys(record.dropped_by for record in records if record.dropped_by)
    for name in list(filters)[:MOST_FILTERS]:
        dropped = [record for record in records if record.dropped_by == name]
        yield f"Dropped by {name}", _sample(dropped, DROPPED)


def _sample(records: Sequence[Record], most: int) -> list[Record]:
    chosen = nsmallest(most, records, key=lambda record: record.rank)
    return sorted(chosen, key=lambda record: (record.video, record.start))


def _figure(record: Record) -> str:
    place = f"{clock(record.start)}-{clock(record.end)}"
    because = f" <b>{escape(record.reason)}</b>" if record.reason else ""
    caption = f"{escape(base_name(record.video))} {place}{because}"
    return f"<figure>{strip(record)}<figcaption>{caption}</figcaption></figure>"
