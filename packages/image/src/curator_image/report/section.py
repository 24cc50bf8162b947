"""The pictures section of a run's report: kept pictures and each rule's drops."""

from collections.abc import Iterator

from curator_core import InputError
from curator_report.run_record import RunRecord
from curator_report.sections import ReportSection, link_to_command, select_fitting

from curator_image.report.filters import RunPictures, read_rules, sample_records
from curator_image.report.records import PictureRecord, read_records
from curator_image.report.thumbnails import STYLE, thumbnail

MAX_EXAMINED, MAX_SHOWN = 500, 12
"""Kept small: the report at the end of a run may take a second, not a minute."""


def pictures_section(run: RunRecord, room: int) -> ReportSection:
    """Return a sheet for kept pictures and for each rule, as many as fit into `room`."""
    more = link_to_command(run, "image report")
    sheets = ((title, _sheet(records)) for title, records in _sample_sections(_read_pictures(run)))
    html = select_fitting(sheets, room - len(more) - len(STYLE))
    if not html:
        raise InputError(f"run {run.path} left no pictures to be shown")
    return ReportSection("Pictures", html + more, STYLE)


def _sheet(records: list[PictureRecord]) -> str:
    shown = "".join(thumbnail(one.image, one.name) for one in records)
    return f'<div class="sheet">{shown}</div>'


def _sample_sections(found: RunPictures) -> Iterator[tuple[str, list[PictureRecord]]]:
    sorts = [("Kept to the end", found.kept)]
    sorts += [(f"Dropped by {rule.name}", rule.examples) for rule in found.rules.values()]
    for title, records in sorts:
        sample = sample_records(record for record in records if record.image is not None)
        if sample:
            yield title, sample[:MAX_SHOWN]


def _read_pictures(run: RunRecord) -> RunPictures:
    kept_path, dropped_path = _writer_folders(run)
    found = read_rules(run)
    for record in read_records(kept_path, MAX_EXAMINED):
        found.add_kept(record)
    for record in read_records(dropped_path, MAX_EXAMINED):
        found.add_dropped(record)
    return found


def _writer_folders(run: RunRecord) -> tuple[str, str]:
    """Return the output and dropped paths of the last writer."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options and "path" in options:
            return str(options["path"]), str(options["dropped_path"] or "")
    raise InputError(f"run {run.path} wrote no pictures")
