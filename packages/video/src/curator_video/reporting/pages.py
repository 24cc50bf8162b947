"""The clips page: timelines of videos, filmstrips of clips, dropped clips with reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from html import escape

from curator_core import InputError
from curator_core.io.filesystems import base_name, join, open_filesystem
from curator_core.model.records import QuarantineRecord
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.figures import count, counted
from curator_core.reporting.fragments import facts_table, figures_table, page, section

from curator_video.reporting.records import Record, records_in
from curator_video.reporting.strips import strip
from curator_video.reporting.styles import STYLE
from curator_video.reporting.timelines import clock, timeline

PAGE = "clips.html"

MOST_LOOKED_AT = 20_000
"""Maximum number of clips to examine. Counts cover all clips."""

KEPT_SHOWN, DROPPED_SHOWN, VIDEOS_SHOWN, FAILURES_SHOWN = 24, 12, 20, 50


@dataclass
class Sorted:
    """Clips sorted into kept and dropped, and by video."""

    kept: list[Record] = field(default_factory=list)
    dropped: dict[str, list[Record]] = field(default_factory=dict)
    videos: dict[str, list[Record]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.videos.setdefault(record.video, []).append(record)
        if record.dropped_by is None:
            self.kept.append(record)
        else:
            self.dropped.setdefault(record.dropped_by, []).append(record)


def write_clips(run_dir: str, output: str | None = None) -> str:
    """Write the clips page of a run and return its path."""
    run = read_run(run_dir)
    found = Sorted()
    for record in records_in(_folder_of(run), MOST_LOOKED_AT):
        found.add(record)
    if not found.videos:
        raise InputError(f"run {run_dir} has written no clips (yet): there is nothing to show")
    where = output or join(run_dir, PAGE)
    fs, path = open_filesystem(where)
    fs.makedirs(path.rpartition("/")[0] or ".", exist_ok=True)
    fs.pipe_file(path, render(run, found).encode("utf-8", "replace"))
    return where


def _folder_of(run: RunRecord) -> str:
    for stage in reversed(run.facts.get("plan", [])):
        if str(stage.get("stage", "")).startswith("curator_video.writing."):
            return str(stage["options"]["path"])
    raise InputError(f"run {run.path} wrote no clips; end its pipeline with video.clip_writer")


def render(run: RunRecord, found: Sorted) -> str:
    """Render the page. All text from data is escaped."""
    looked_at = sum(map(len, found.videos.values()))
    names = [stage["name"] for stage in run.facts.get("plan", [])]
    parts = [
        f"<h1>{escape(run.name)}</h1>",
        f"<p>{_sentence(run, found)}</p>",
        _overview(run, names),
        section("Not readable, or damaged", _failures(run)),
        section("Where clips lie", _timelines(found)),
        section("Kept", _strips(_sample(found.kept, KEPT_SHOWN))),
        *(
            section(_title(run, name), _of_filter(run, name, found.dropped[name]))
            for name in names
            if name in found.dropped
        ),
        f"<p>{counted(looked_at, 'clip')} looked at; what is shown is a sample, the same each "
        "time. Counts are of all.</p>",
    ]
    return page(f"{run.name}: clips", "".join(parts), STYLE)


def _sentence(run: RunRecord, found: Sorted) -> str:
    kept = len(found.kept)
    dropped = sum(map(len, found.dropped.values()))
    failed = len(run.result.quarantined)
    said = f"{counted(kept, 'clip')} kept and {count(dropped)} dropped"
    said += f" of {counted(len(found.videos), 'video')}"
    return f"{said}; {counted(failed, 'part')} set aside as damaged." if failed else f"{said}."


def _overview(run: RunRecord, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        counts = run.result.stages[name]
        dropped = sum(counts.reasons.values())
        if dropped:
            why = ", ".join(escape(reason) for reason in counts.reasons)
            rows.append([escape(name), count(counts.items_in), count(dropped), why])
    return figures_table(("stage", "came", "dropped", "why"), rows)


def _failures(run: RunRecord) -> str:
    failed = run.result.quarantined
    lines = "".join(_failure(one) for one in failed[:FAILURES_SHOWN])
    more = len(failed) - FAILURES_SHOWN
    told = f"<p>And {count(more)} more.</p>" if more > 0 else ""
    return f'<ul class="failures">{lines}</ul>{told}' if lines else ""


def _failure(one: QuarantineRecord) -> str:
    """Render one failure; drop the error class and the path from its reason."""
    place = one.where or one.source
    kind, _, said = one.reason.partition(": ")
    reason = said if kind.endswith("Error") else one.reason
    reason = reason.removeprefix(one.source).removeprefix(place).strip(" :")
    return f"<li><b>{escape(base_name(place))}</b> {escape(reason)}</li>"


_KEY = (
    '<p class="key"><span><i style="background:var(--good)"></i>kept</span>'
    '<span><i style="background:var(--bar)"></i>dropped</span>'
    '<span><i style="background:var(--line)"></i>no clip: a cut, or too short</span></p>'
)


def _timelines(found: Sorted) -> str:
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


def _of_filter(run: RunRecord, name: str, records: Sequence[Record]) -> str:
    reasons = run.result.stages[name].reasons
    told = facts_table((reason, count(times)) for reason, times in reasons.items())
    return told + _strips(_sample(records, DROPPED_SHOWN))


def _sample(records: Iterable[Record], most: int) -> list[Record]:
    chosen = nsmallest(most, records, key=lambda record: record.rank)
    return sorted(chosen, key=lambda record: (record.video, record.start))


def _strips(records: Sequence[Record]) -> str:
    shown = "".join(_figure(record) for record in records)
    return f'<div class="strips">{shown}</div>' if shown else ""


def _figure(record: Record) -> str:
    place = f"{clock(record.start)}-{clock(record.end)}"
    scores = " · ".join(
        f"{escape(name)}&nbsp;{escape(_number(value))}"
        for name, value in record.scores.items()
        if value is not None
    )
    because = f" <b>{escape(record.reason)}</b>" if record.reason else ""
    return (
        f"<figure>{strip(record)}<figcaption>{escape(base_name(record.video))} {place}{because}"
        f'<div class="scores">{scores}</div></figcaption></figure>'
    )


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
