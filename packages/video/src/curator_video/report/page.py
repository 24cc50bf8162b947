"""The clips page: timelines of videos, filmstrips of clips, dropped clips with reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from curator_core import InputError, QuarantineRecord
from curator_core.io.filesystems import base_name, join, open_filesystem
from curator_core.model.formatting import count, counted
from curator_report.html import facts_table, figures_table, page, section
from curator_report.run_record import RunRecord, read_run

from curator_video.report.filmstrips import STYLE, clock, figures
from curator_video.report.records import ClipRecord, find_clips_folder, read_records, sample_records

PAGE = "clips.html"
MAX_EXAMINED = 20_000
"""Maximum number of clips to examine. Counts cover all clips."""

KEPT_SHOWN, DROPPED_SHOWN, VIDEOS_SHOWN, FAILURES_SHOWN = 24, 12, 20, 50

_KEY = (
    '<p class="key"><span><i style="background:var(--good)"></i>kept</span>'
    '<span><i style="background:var(--bar)"></i>dropped</span>'
    '<span><i style="background:var(--line)"></i>no clip: a cut, or too short</span></p>'
)

_WIDTH, _HEIGHT = 1000.0, 26


@dataclass
class ClipGroups:
    """Clips sorted into kept and dropped, and by video."""

    kept: list[ClipRecord] = field(default_factory=list)
    dropped: dict[str, list[ClipRecord]] = field(default_factory=dict)
    videos: dict[str, list[ClipRecord]] = field(default_factory=dict)

    def add(self, record: ClipRecord) -> None:
        self.videos.setdefault(record.video, []).append(record)
        if record.dropped_by is None:
            self.kept.append(record)
        else:
            self.dropped.setdefault(record.dropped_by, []).append(record)


def write_clips(run_dir: str, output: str | None = None) -> str:
    """Write the clips page of a run and return its path."""
    run = read_run(run_dir)
    found = ClipGroups()
    for record in read_records(find_clips_folder(run), MAX_EXAMINED):
        found.add(record)
    if not found.videos:
        raise InputError(f"run {run_dir} has written no clips yet")
    target = output or join(run_dir, PAGE)
    fs, path = open_filesystem(target)
    fs.makedirs(path.rpartition("/")[0] or ".", exist_ok=True)
    fs.pipe_file(path, render(run, found).encode("utf-8", "replace"))
    return target


def render(run: RunRecord, found: ClipGroups) -> str:
    """Render the page. All text from data is escaped."""
    examined = sum(map(len, found.videos.values()))
    names = [stage["name"] for stage in run.facts.get("plan", [])]
    parts = [
        f"<h1>{escape(run.name)}</h1>",
        f"<p>{_sentence(run, found)}</p>",
        _overview(run, names),
        section("Unreadable or damaged", _failures(run)),
        section("Timelines", _timelines(found)),
        section("Kept", figures(sample_records(found.kept, KEPT_SHOWN), with_scores=True)),
        *(
            section(_title(run, name), _filter_section(run, name, found.dropped[name]))
            for name in names
            if name in found.dropped
        ),
        f"<p>{counted(examined, 'clip')} examined. The clips shown are a sample, always the same; "
        "counts cover all clips.</p>",
    ]
    return page(f"{run.name}: clips", "".join(parts), STYLE)


def _sentence(run: RunRecord, found: ClipGroups) -> str:
    kept = len(found.kept)
    dropped = sum(map(len, found.dropped.values()))
    failed = len(run.result.quarantined)
    text = f"{counted(kept, 'clip')} kept and {count(dropped)} dropped"
    text += f" of {counted(len(found.videos), 'video')}"
    return f"{text}; {counted(failed, 'part')} quarantined as damaged." if failed else f"{text}."


def _overview(run: RunRecord, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        counts = run.result.stages[name]
        dropped = sum(counts.reasons.values())
        if dropped:
            reasons = ", ".join(escape(reason) for reason in counts.reasons)
            rows.append([escape(name), count(counts.items_in), count(dropped), reasons])
    return figures_table(("stage", "input", "dropped", "reasons"), rows)


def _failures(run: RunRecord) -> str:
    failed = run.result.quarantined
    lines = "".join(_failure(one) for one in failed[:FAILURES_SHOWN])
    more = len(failed) - FAILURES_SHOWN
    text = f"<p>And {count(more)} more.</p>" if more > 0 else ""
    return f'<ul class="failures">{lines}</ul>{text}' if lines else ""


def _failure(one: QuarantineRecord) -> str:
    """Render one failure; drop the error class and the path from its reason."""
    where = one.where or one.source
    kind, _, text = one.reason.partition(": ")
    reason = text if kind.endswith("Error") else one.reason
    reason = reason.removeprefix(one.source).removeprefix(where).strip(" :")
    return f"<li><b>{escape(base_name(where))}</b> {escape(reason)}</li>"


def _timelines(found: ClipGroups) -> str:
    shown = sorted(found.videos.items())[:VIDEOS_SHOWN]
    lines = "".join(
        f'<div class="video"><h3 title="{escape(path)}">{escape(base_name(path))}</h3>'
        f"{timeline(records)}</div>"
        for path, records in shown
    )
    more = len(found.videos) - len(shown)
    return _KEY + lines + (f"<p>And {counted(more, 'video')} more.</p>" if more else "")


def _title(run: RunRecord, name: str) -> str:
    dropped = sum(run.result.stages[name].reasons.values())
    return f"{escape(name)}: {count(dropped)} dropped"


def _filter_section(run: RunRecord, name: str, records: Sequence[ClipRecord]) -> str:
    reasons = run.result.stages[name].reasons
    text = facts_table((reason, count(times)) for reason, times in reasons.items())
    return text + figures(sample_records(records, DROPPED_SHOWN), with_scores=True)


def timeline(records: Sequence[ClipRecord]) -> str:
    """Return a bar for the video's duration, with kept and dropped clips at their times."""
    length = max([*(record.end for record in records), *(_length(record) for record in records)])
    ordered = sorted(records, key=lambda record: record.start)
    shapes = "".join(_shape(record, _WIDTH / length) for record in ordered)
    times = "".join(f"<span>{clock(quarter * length / 4)}</span>" for quarter in range(5))
    return (
        f'<svg class="line" viewBox="0 0 {_WIDTH:g} {_HEIGHT}" preserveAspectRatio="none">'
        f'<rect class="film" width="{_WIDTH:g}" height="{_HEIGHT}"/>{shapes}</svg>'
        f'<div class="times">{times}</div>{_cuts(ordered)}'
    )


def _length(record: ClipRecord) -> float:
    return float(record.facts.get("duration_source") or 0.0)


def _shape(record: ClipRecord, scale: float) -> str:
    left, width = record.start * scale, max(1.0, (record.end - record.start) * scale - 1)
    kind = "dropped" if record.dropped_by else "kept"
    text = f"{clock(record.start)}-{clock(record.end)} {record.reason or 'kept'}"
    return (
        f'<rect class="{kind}" x="{left:.1f}" width="{width:.1f}" height="{_HEIGHT}">'
        f"<title>{escape(text)}</title></rect>"
    )


def _cuts(ordered: Sequence[ClipRecord]) -> str:
    lines = "".join(
        f"<li>{clock(one.start)} - {clock(one.end)} {escape(one.reason or 'kept')}</li>"
        for one in ordered
    )
    return f"<details><summary>{counted(len(ordered), 'clip')}</summary><ol>{lines}</ol></details>"
