"""Recordings in the report of a run: hours by rule, and a few players of each kind."""

from collections.abc import Iterator

from curator_core import InputError
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.exhibits import Exhibit, fitting, where_more_is

from curator_audio.reporting.pages import folders_of, hours_by_rule, sheet
from curator_audio.reporting.rows import Row, rows_in
from curator_audio.reporting.rules import Sorted, rules_of
from curator_audio.reporting.sounds import Sounds
from curator_audio.reporting.styles import STYLE

LOOKED_AT, SHOWN, MOST_RULES = 2000, 3, 6
"""Small limits: the report is made at the end of every run and should take about a second."""


def recordings(run: RunRecord, room: int) -> Exhibit:
    """Show a few players of each kind, as far as there is room for them."""
    found, is_all = _looked_at(run)
    if not found.kept_rows and not any(rule.examples for rule in found.rules.values()):
        raise InputError(f"run {run.path} left no recordings to be heard")
    html = hours_by_rule(found) if is_all else ""  # partial hours would be mistaken for totals
    sounds, more = Sounds(room // 2), where_more_is(run, "audio report")
    sheets = ((title, sheet(rows, sounds)) for title, rows in _sorts(found))
    html += fitting(sheets, room - len(html) - len(more) - len(STYLE))
    return Exhibit("Recordings", html + more, STYLE)


def _sorts(found: Sorted) -> Iterator[tuple[str, list[Row]]]:
    if found.kept:
        yield "Kept", found.kept[:SHOWN]
    rules = [rule for rule in found.rules.values() if rule.examples]
    for rule in rules[:MOST_RULES]:
        yield f"Dropped by {rule.name}", rule.examples[:SHOWN]


def _looked_at(run: RunRecord) -> tuple[Sorted, bool]:
    """Return the sorted rows, and whether all rows were read."""
    kept_path, dropped_path = folders_of(run)
    found, dropped = rules_of(run), 0
    for row in rows_in(kept_path, LOOKED_AT):
        found.add_kept(row)
    for row in rows_in(dropped_path, LOOKED_AT) if dropped_path else ():
        dropped += 1
        found.add_dropped(row)
    return found, max(found.kept_rows, dropped) < LOOKED_AT
