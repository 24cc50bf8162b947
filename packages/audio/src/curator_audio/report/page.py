"""The page about a run of recordings: hours by rule, histograms, and players."""

from html import escape

from curator_core.io.filesystems import join, open_filesystem
from curator_core.model.formatting import count, counted
from curator_report.histograms import histogram, legend
from curator_report.html import facts_table, page, section
from curator_report.run_record import read_run

from curator_audio.audio_batch import PATH
from curator_audio.report.figures import FigureBuilder, Mark
from curator_audio.report.rows import Row, read_rows
from curator_audio.report.rules import MEASURED, RowsByRule, RuleCounts, read_rules, sample_rows
from curator_audio.report.sections import STYLE, hours, hours_by_rule, output_folders, sheet

PAGE = "recordings.html"

MAX_ROWS = 50_000
"""Rows to look at; counts still include all rows."""

_ROOM = 2_600_000

_REASONS = 12
_SOURCES, _SOURCE_SECONDS = 5, 60.0


def write_page(run_dir: str, output: str | None = None) -> str:
    """Write the page about a run, and return its path."""
    run = read_run(run_dir)
    kept_path, dropped_path = output_folders(run)
    found = read_rules(run)
    for row in read_rows(kept_path, MAX_ROWS):
        found.add_kept(row)
    for row in read_rows(dropped_path, MAX_ROWS) if dropped_path else ():
        found.add_dropped(row)
    where = output or join(run_dir, PAGE)
    fs, path = open_filesystem(where)
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(path, render(run.name, found, dropped_path).encode("utf-8", "replace"))
    return where


def render(name: str, found: RowsByRule, dropped_path: str) -> str:
    """Return the page as HTML; all data is escaped."""
    sounds = FigureBuilder(_ROOM)
    rules = [rule for rule in found.rules.values() if rule.dropped]
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="good">{escape(_sentence(found))}</p>',
        section("Hours by rule: dropped, and kept", hours_by_rule(found)),
        "" if dropped_path else _ADVICE,
        section("Segments in their recordings", _timelines(found, sounds)),
        section("Kept", sheet(found.kept, sounds)),
        *(section(f"Dropped by {escape(rule.name)}", _about(rule, sounds)) for rule in rules),
        section("Quarantined, since they could not be decoded", _set_aside(found)),
        section("Measured", _histograms(found)),
    ]
    return page(f"{name}: recordings", "".join(parts), STYLE)


_ADVICE = (
    "<p>Dropped recordings cannot be shown or counted in hours: the writer had no dropped_path. "
    "Set it to hear what each rule drops.</p>"
)


def _sentence(found: RowsByRule) -> str:
    lost = sum(rule.seconds for rule in found.rules.values())
    kept = f"{hours(found.kept_seconds)} kept in {counted(found.kept_rows, 'row')}"
    aside = f", {count(found.quarantined.total())} quarantined" if found.quarantined else ""
    return (f"{kept}, {hours(lost)} dropped" if lost else kept) + aside


def _set_aside(found: RowsByRule) -> str:
    listed = found.quarantined.most_common(_REASONS)
    more = len(found.quarantined) - len(listed)
    note = f"<p>{count(more)} more reasons, in the quarantine of the run.</p>" if more else ""
    return facts_table((reason, count(times)) for reason, times in listed) + note if listed else ""


def _histograms(found: RowsByRule) -> str:
    charts = []
    for name in sorted(found.scores, key=_order):
        drawn = histogram(found.scores[name], found.limits_of(name))
        if drawn:
            title = escape(MEASURED.get(name, name))
            charts.append(f"<div><h3>{title} {legend()}</h3>{drawn}</div>")
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _order(name: str) -> tuple[int, str]:
    known = list(MEASURED)
    return (known.index(name) if name in known else 3, name)


def _timelines(found: RowsByRule, sounds: FigureBuilder) -> str:
    """Draw whole recordings, with all segments that were cut from them."""
    firsts = [Row({PATH: source}, None) for source in found.sources]
    figures = []
    for row in sample_rows(firsts, _SOURCES):
        segments = found.sources[row.source]
        marks = [_mark(one) for one in segments if one.span is not None]
        caption = (
            f"<b>{escape(row.source.rpartition('/')[2])}</b>, {counted(len(segments), 'segment')}"
        )
        figures.append(sounds.figure(row, _SOURCE_SECONDS, caption, marks))
    if not figures:
        return ""
    return f'<p class="spans">{_SPANS}</p><div class="sheet wide">{"".join(figures)}</div>'


_SPANS = (
    'Segments of speech: <span style="border-color:#2c6"></span>kept '
    '<span style="border-color:#f33"></span>dropped'
)


def _mark(row: Row) -> Mark:
    start, end = row.span or (0.0, 0.0)
    kind = "dropped" if row.dropped_by else "kept"
    outcome = f"{row.dropped_by}: {row.reason}" if row.dropped_by else "kept"
    return Mark(start, end, kind, f"{start:.1f}-{end:.1f} s, {outcome}")


def _about(rule: RuleCounts, sounds: FigureBuilder) -> str:
    reasons = facts_table((reason, count(times)) for reason, times in rule.reasons.items())
    return reasons + sheet(rule.examples, sounds)
