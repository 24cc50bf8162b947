"""The page about a run of recordings: hours by rule, histograms, and players."""

from html import escape

from curator_core import InputError
from curator_core.io.filesystems import join, open_filesystem
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.figures import count, counted, share
from curator_core.reporting.fragments import facts_table, figures_table, page, section
from curator_core.reporting.histograms import KEY, histogram, number

from curator_audio.batches import PATH, TEXT
from curator_audio.reporting.drawings import Mark
from curator_audio.reporting.rows import Row, rows_in
from curator_audio.reporting.rules import MEASURED, Rule, Sorted, rules_of, sample_of
from curator_audio.reporting.sounds import Sounds
from curator_audio.reporting.styles import STYLE
from curator_audio.transcripts.filters import HEARD

PAGE = "recordings.html"

MOST_LOOKED_AT = 50_000
"""Rows to look at; counts still include all rows."""

_ROOM = 2_600_000
_REASONS = 12
_SOURCES, _SOURCE_SECONDS, _SECONDS = 5, 60.0, 12.0


def write_page(run_dir: str, output: str | None = None) -> str:
    """Write the page about a run, and return its path."""
    run = read_run(run_dir)
    kept_path, dropped_path = folders_of(run)
    found = rules_of(run)
    for row in rows_in(kept_path, MOST_LOOKED_AT):
        found.add_kept(row)
    for row in rows_in(dropped_path, MOST_LOOKED_AT) if dropped_path else ():
        found.add_dropped(row)
    where = output or join(run_dir, PAGE)
    fs, path = open_filesystem(where)
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(path, render(run.name, found, dropped_path).encode("utf-8", "replace"))
    return where


def folders_of(run: RunRecord) -> tuple[str, str]:
    """Return the folders in which the last writer put kept and dropped rows."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options:
            return options["path"], options["dropped_path"] or ""
    raise InputError(f"run {run.path} wrote no recordings; end its pipeline with a writer")


def render(name: str, found: Sorted, dropped_path: str) -> str:
    """Return the page as HTML; all data is escaped."""
    sounds = Sounds(_ROOM)
    rules = [rule for rule in found.rules.values() if rule.dropped]
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="good">{escape(_sentence(found))}</p>',
        section("Hours by rule: dropped, and kept", hours_by_rule(found)),
        "" if dropped_path else _ADVICE,
        section("In their recordings", _timelines(found, sounds)),
        section("Kept", sheet(found.kept, sounds)),
        *(section(f"Dropped by {escape(rule.name)}", _about(rule, sounds)) for rule in rules),
        section("Set aside, since they could not be heard", _set_aside(found)),
        section("Measured", _histograms(found)),
    ]
    return page(f"{name}: recordings", "".join(parts), STYLE)


_ADVICE = (
    "<p>Nothing dropped can be shown, and no hours of it counted: the writer had no dropped_path. "
    "Give it one to hear what each rule takes away.</p>"
)


def hours(seconds: float) -> str:
    """Format a duration as hours or minutes, or as seconds below a minute."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes / 60:,.1f} h"


def _sentence(found: Sorted) -> str:
    lost = sum(rule.seconds for rule in found.rules.values())
    kept = f"{hours(found.kept_seconds)} kept in {counted(found.kept_rows, 'row')}"
    aside = f", {count(found.set_aside.total())} set aside" if found.set_aside else ""
    return (f"{kept}, {hours(lost)} dropped" if lost else kept) + aside


def _set_aside(found: Sorted) -> str:
    listed = found.set_aside.most_common(_REASONS)
    more = len(found.set_aside) - len(listed)
    note = f"<p>{count(more)} more reasons, in the quarantine of the run.</p>" if more else ""
    return facts_table((reason, count(times)) for reason, times in listed) + note if listed else ""


def hours_by_rule(found: Sorted) -> str:
    rows = []
    for rule in found.rules.values():
        part = share(rule.dropped, rule.dropped + rule.passed) if rule.dropped else ""
        rows.append([escape(rule.name), count(rule.dropped), _length(rule), part or ""])
    rows.append(["<b>kept</b>", count(found.kept_rows), hours(found.kept_seconds), ""])
    return figures_table(("rule", "rows", "length", "share"), rows)


def _length(rule: Rule) -> str:
    """Format the dropped length; rows without a duration are counted separately."""
    if not rule.dropped:
        return "-"
    if rule.untold:
        return f"{hours(rule.seconds)} + {count(rule.untold)}?" if rule.seconds else "?"
    return hours(rule.seconds)


def _histograms(found: Sorted) -> str:
    charts = []
    for name in sorted(found.scores, key=_order):
        drawn = histogram(found.scores[name], found.limits_of(name))
        if drawn:
            title = escape(MEASURED.get(name, name))
            charts.append(f"<div><h3>{title} {KEY}</h3>{drawn}</div>")
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _order(name: str) -> tuple[int, str]:
    known = list(MEASURED)
    return (known.index(name) if name in known else 3, name)


def _timelines(found: Sorted, sounds: Sounds) -> str:
    """Draw whole recordings, with all segments that were cut from them."""
    firsts = [Row({PATH: source}, None) for source in found.sources]
    figures = []
    for row in sample_of(firsts, _SOURCES):
        segments = found.sources[row.source]
        marks = [_mark(one) for one in segments if one.place is not None]
        told = (
            f"<b>{escape(row.source.rpartition('/')[2])}</b>, {counted(len(segments), 'segment')}"
        )
        figures.append(sounds.figure(row, _SOURCE_SECONDS, told, marks))
    if not figures:
        return ""
    return f'<p class="spans">{_SPANS}</p><div class="sheet wide">{"".join(figures)}</div>'


_SPANS = (
    'Segments of speech: <span style="border-color:#2c6"></span>kept '
    '<span style="border-color:#f33"></span>dropped'
)


def _mark(row: Row) -> Mark:
    start, end = row.place or (0.0, 0.0)
    kind = "dropped" if row.dropped_by else "kept"
    told = f"{row.dropped_by}: {row.reason}" if row.dropped_by else "kept"
    return Mark(start, end, kind, f"{start:.1f}-{end:.1f} s, {told}")


def _about(rule: Rule, sounds: Sounds) -> str:
    reasons = facts_table((reason, count(times)) for reason, times in rule.reasons.items())
    return reasons + sheet(rule.examples, sounds)


def sheet(rows: list[Row], sounds: Sounds) -> str:
    shown = "".join(_figure(row, sounds) for row in rows)
    return f'<div class="sheet">{shown}</div>' if shown else ""


_SHOWN = {"snr_db": "SNR {} dB", "wer": "WER {}", "loudness_lufs": "{} LUFS"}


def _figure(row: Row, sounds: Sounds) -> str:
    name = escape(row.source.rpartition("/")[2])
    place = row.place
    at = f" from {place[0]:.1f} s" if place else ""
    text = escape(str(row.facts.get(HEARD) or row.facts.get(TEXT) or ""))
    told = ", ".join(
        shown.format(number(value))
        for column, shown in _SHOWN.items()
        if (value := row.number(column)) is not None
    )
    said = f"<q>{text}</q>" if text else ""
    caption = f"<b>{name}</b>{at} {said} {escape(told)}"
    spans = [Mark(start, end, "speech", "speech") for start, end in row.spans()]
    return sounds.figure(row, _SECONDS, caption, spans)
