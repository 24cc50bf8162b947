"""Stages on the report page: a funnel, and a table of counts, times and resources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from curator_core.model.records import StageCounts
from curator_core.model.usage import Usage
from curator_core.reporting.figures import brief, count, duration, rate, share, size
from curator_core.reporting.fragments import figures_table
from curator_core.reporting.reasons import came_to, kept_back

_MOST_OPEN = 40
"""With more stages than this, the full table is collapsed."""

_MOST_IN_FUNNEL = 24
_NONE = Usage()

Stages = Mapping[str, StageCounts]


@dataclass(frozen=True)
class Step:
    """How many items reached a stage, out of how many, and how many it kept back."""

    name: str
    items: int
    of: int
    kept_back: int = 0
    made_of: int = 0
    """For a stage that makes more items than it gets: how many it got."""

    playing_ms: int = 0
    """Playing time of the items, for video and audio."""


def steps(stages: Stages, *, wrote: bool) -> list[Step]:
    """Return the stages that kept items back, and what was left at the end.

    A stage that makes more of what it gets, such as clips of films, is a new start: later shares
    are of its items. If the run wrote files, the last stage takes records and returns files.
    """
    return list(_steps(stages, wrote=wrote))


def _steps(stages: Stages, *, wrote: bool) -> Iterator[Step]:
    last, left, whole, playing_ms, has_begun = len(stages) - 1, 0, 0, 0, False
    for place, (name, counts) in enumerate(stages.items()):
        back, came = kept_back(counts), came_to(counts)
        writes = wrote and place == last
        makes_more = came > counts.items_in and not writes
        if makes_more or not whole:
            whole, playing_ms = came, counts.playing_ms
        if back or (makes_more and has_begun):
            made_of = counts.items_in if makes_more and has_begun else 0
            items = counts.items_in if writes else came
            yield Step(name, items, whole, back, made_of, playing_ms)
            has_begun = True
        left = counts.items_in - back if writes else counts.items_out
        playing_ms = playing_ms if writes else counts.playing_ms
    yield Step("left at the end", left, whole, playing_ms=playing_ms)


def funnel(stages: Stages, *, wrote: bool) -> str:
    """Show how much reached each stage that kept items back, and how much was left at the end."""
    *found, end = steps(stages, wrote=wrote)
    if not found:
        return ""
    hidden = len(found) - _MOST_IN_FUNNEL
    if hidden > 0:
        most = sorted(found, key=lambda step: -step.kept_back)[:_MOST_IN_FUNNEL]
        found = [step for step in found if step in most]
    note = f"<p>{count(hidden)} more stages kept less back.</p>" if hidden > 0 else ""
    return f'<div class="funnel">{"".join(map(_bar, [*found, end]))}</div>{note}'


def _bar(step: Step) -> str:
    part = f"made of {count(step.made_of)}" if step.made_of else share(step.items, step.of)
    if step.playing_ms:
        part = f"{duration(step.playing_ms / 1000)}, {part}"
    wide = 100 * step.items / (step.of or 1)
    return (
        f"<p><span>{escape(step.name)}</span><span>{count(step.items)} <small>{part}</small></span>"
        f'<b><i style="width:{wide:.2f}%"></i></b></p>'
    )


HEAD = ("stage", "in", "out", "dropped", "failed", "retried", "time in it", "records/s",
        "50 %", "95 %", "longest", "CPU", "memory", "crashed")  # fmt: skip


def stage_tables(stages: Stages, usages: Mapping[str, Usage], seconds: float) -> str:
    """Return the table of all stages; if there are many, the most important ones come first."""
    most = max((counts.seconds for counts in stages.values()), default=0.0)

    def table(names: Sequence[str]) -> str:
        rows = (_row(name, stages[name], usages.get(name, _NONE), seconds, most) for name in names)
        return figures_table(HEAD, rows)

    if len(stages) <= _MOST_OPEN:
        return table(list(stages))
    telling = sorted(stages, key=lambda n: (-kept_back(stages[n]), -stages[n].seconds))
    chosen = set(telling[: _MOST_OPEN // 2])
    chosen |= set(sorted(stages, key=lambda n: -stages[n].seconds)[: _MOST_OPEN // 2])
    return (
        f"<p>Those of {count(len(stages))} stages that took longest or kept most back.</p>"
        f"{table([name for name in stages if name in chosen])}"
        f"<details><summary>all {count(len(stages))} stages</summary>"
        f"{table(list(stages))}</details>"
    )


def _row(name: str, counts: StageCounts, usage: Usage, seconds: float, most: float) -> list[str]:
    failed = counts.items_failed + counts.items_rejected
    took = brief(counts.seconds)
    times = [usage.quantile(0.5), usage.quantile(0.95), usage.longest_s] if usage.tasks else []
    return [
        escape(name),
        *map(count, (counts.items_in, counts.items_out, counts.items_dropped, failed)),
        count(counts.tasks_retried),
        f"<b>{took}</b>" if counts.seconds == most > 0 else took,
        rate(came_to(counts) / seconds) if seconds else "",
        *(brief(one) for one in times or (0.0, 0.0, 0.0)),
        share(round(1000 * usage.cpu_s), round(1000 * usage.seconds)) if usage.seconds else "",
        size(usage.rss_bytes) if usage.rss_bytes else "",
        count(usage.crashes + usage.timeouts),
    ]
