"""Recordings in the report of a run: hours by rule, and a few players of each kind."""

from collections.abc import Iterator
from html import escape

from curator_core import InputError
from curator_core.model.formatting import count, share
from curator_report.histograms import number
from curator_report.html import figures_table
from curator_report.run_record import RunRecord
from curator_report.sections import ReportSection, link_to_command, select_fitting

from curator_audio.audio_batch import PREDICTED_TEXT, TEXT
from curator_audio.report.figures import FigureBuilder, Mark
from curator_audio.report.rows import Row, read_rows
from curator_audio.report.rules import RowsByRule, RuleCounts, read_rules

STYLE = """
.sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr));
  gap: 1rem; margin: .3rem 0 1rem }
.wide { grid-template-columns: 1fr }
figure { margin: 0; font-size: .8rem; line-height: 1.35; min-width: 0 }
figcaption { overflow-wrap: anywhere; margin-top: .2rem }
.length { opacity: .7; white-space: nowrap }
.sound { width: 100%; height: 8.5rem; display: block; background: #8881 }
.sound .wave { fill: #58a }
.sound rect { fill-opacity: .12; stroke-width: 2; vector-effect: non-scaling-stroke }
.sound rect.kept { fill: #2c6; stroke: #2c6 } .sound rect.dropped { fill: #f33; stroke: #f33 }
.sound rect.speech { fill: #fff; stroke: #fff; stroke-dasharray: 5 3 }
audio { width: 100%; height: 2.2rem; display: block; margin-top: .25rem }
.missing { border: 1px dashed var(--line); padding: .6rem; opacity: .7 }
.spans span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem;
  vertical-align: -1px; border: 2px solid }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr));
  gap: 0 2rem }
h1 { overflow-wrap: anywhere } h3 { margin: 1rem 0 .2rem; font-size: .95rem }
"""

_SECONDS = 12.0


def output_folders(run: RunRecord) -> tuple[str, str]:
    """Return the folders in which the last writer put kept and dropped rows."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options:
            return options["path"], options["dropped_path"] or ""
    raise InputError(f"run {run.path} wrote no recordings; end its pipeline with a writer")


def hours(seconds: float) -> str:
    """Format a duration as hours or minutes, or as seconds below a minute."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes / 60:,.1f} h"


def hours_by_rule(found: RowsByRule) -> str:
    rows = []
    for rule in found.rules.values():
        part = share(rule.dropped, rule.dropped + rule.passed) if rule.dropped else ""
        rows.append([escape(rule.name), count(rule.dropped), _length(rule), part or ""])
    rows.append(["<b>kept</b>", count(found.kept_rows), hours(found.kept_seconds), ""])
    return figures_table(("rule", "rows", "length", "share"), rows)


def _length(rule: RuleCounts) -> str:
    """Format the dropped length; rows without a duration are counted separately."""
    if not rule.dropped:
        return "-"
    if rule.without_duration:
        return f"{hours(rule.seconds)} + {count(rule.without_duration)}?" if rule.seconds else "?"
    return hours(rule.seconds)


def sheet(rows: list[Row], sounds: FigureBuilder) -> str:
    shown = "".join(_figure(row, sounds) for row in rows)
    return f'<div class="sheet">{shown}</div>' if shown else ""


_SHOWN = {"snr_db": "SNR {} dB", "wer": "WER {}", "loudness_lufs": "{} LUFS"}


def _figure(row: Row, sounds: FigureBuilder) -> str:
    name = escape(row.source.rpartition("/")[2])
    span = row.span
    at = f" from {span[0]:.1f} s" if span else ""
    text = escape(str(row.facts.get(PREDICTED_TEXT) or row.facts.get(TEXT) or ""))
    values = ", ".join(
        shown.format(number(value))
        for column, shown in _SHOWN.items()
        if (value := row.number(column)) is not None
    )
    quote = f"<q>{text}</q>" if text else ""
    caption = f"<b>{name}</b>{at} {quote} {escape(values)}"
    spans = [Mark(start, end, "speech", "speech") for start, end in row.spans()]
    return sounds.figure(row, _SECONDS, caption, spans)


MAX_ROWS, SHOWN, MAX_RULES = 2000, 3, 6
"""Small limits: the report is made at the end of every run and should take about a second."""


def recordings(run: RunRecord, room: int) -> ReportSection:
    """Show a few players of each kind, as far as there is room for them."""
    found, is_all = _read_run(run)
    if not found.kept_rows and not any(rule.examples for rule in found.rules.values()):
        raise InputError(f"run {run.path} has no recordings to show")
    html = hours_by_rule(found) if is_all else ""  # partial hours would be mistaken for totals
    sounds, more = FigureBuilder(room // 2), link_to_command(run, "audio report")
    sheets = ((title, sheet(rows, sounds)) for title, rows in _sheets(found))
    html += select_fitting(sheets, room - len(html) - len(more) - len(STYLE))
    return ReportSection("Recordings", html + more, STYLE)


def _sheets(found: RowsByRule) -> Iterator[tuple[str, list[Row]]]:
    if found.kept:
        yield "Kept", found.kept[:SHOWN]
    rules = [rule for rule in found.rules.values() if rule.examples]
    for rule in rules[:MAX_RULES]:
        yield f"Dropped by {rule.name}", rule.examples[:SHOWN]


def _read_run(run: RunRecord) -> tuple[RowsByRule, bool]:
    """Return the sorted rows, and whether all rows were read."""
    kept_path, dropped_path = output_folders(run)
    found, dropped = read_rules(run), 0
    for row in read_rows(kept_path, MAX_ROWS):
        found.add_kept(row)
    for row in read_rows(dropped_path, MAX_ROWS) if dropped_path else ():
        dropped += 1
        found.add_dropped(row)
    return found, max(found.kept_rows, dropped) < MAX_ROWS
