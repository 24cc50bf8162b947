"""The clips section of a run's report: filmstrips of kept clips and of each filter's drops."""

from collections.abc import Iterator, Sequence

from curator_core import InputError
from curator_report.run_record import RunRecord
from curator_report.sections import ReportSection, link_to_command, select_fitting

from curator_video.report.filmstrips import STYLE, figures
from curator_video.report.records import ClipRecord, find_clips_folder, read_records, sample_records

EXAMINED, KEPT, DROPPED, MAX_FILTERS = 500, 6, 3, 6
"""Kept small: the report is made at the end of the run, and each strip must be decoded."""


def clips(run: RunRecord, room: int) -> ReportSection:
    """Return filmstrips of kept clips and of each filter, as many as fit."""
    records = list(read_records(find_clips_folder(run), EXAMINED))
    more = link_to_command(run, "video report")
    strips = ((title, figures(shown)) for title, shown in _groups(records))
    html = select_fitting(strips, room - len(more) - len(STYLE))
    if not html:
        raise InputError(f"run {run.path} has written no clips")
    return ReportSection("Clips", html + more, STYLE)


def _groups(records: Sequence[ClipRecord]) -> Iterator[tuple[str, list[ClipRecord]]]:
    kept = [record for record in records if record.dropped_by is None]
    if kept:
        yield "Kept", sample_records(kept, KEPT)
    filters = dict.fromkeys(record.dropped_by for record in records if record.dropped_by)
    for name in list(filters)[:MAX_FILTERS]:
        dropped = [record for record in records if record.dropped_by == name]
        yield f"Dropped by {name}", sample_records(dropped, DROPPED)
