"""Stages on the report page: a funnel, and a table of counts, times and resources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from curator_core import StageCounts
from curator_core.model.formatting import brief, count, rate, share, size
from curator_core.model.usage import Usage

from curator_report.failures import items_not_kept, items_received

_MOST_OPEN = 40
"""With more stages than this, the full table is collapsed."""

_MOST_IN_FUNNEL = 24
_NONE = Usage()

Stages = Mapping[str, StageCounts]


@dataclass(frozen=True)
class FunnelStep:
    """How many items reached a stage, out of how many, and how many it kept back."""

    name: str
    items: int
    of: int
    items_not_kept: int = 0
    made_of: int = 0
    """For a stage that makes more items than it gets: how many it got."""

    playing_ms: int = 0
    """Playing time of the items, for video and audio."""

    @property
    def percent(self) -> float:
        return 100 * self.items / (self.of or 1)


@dataclass(frozen=True)
class Funnel:
    """The steps that the page shows, and how many more there are."""

    steps: Sequence[FunnelStep]
    hidden: int


@dataclass(frozen=True)
class StageRow:
    """A row of the table of stages."""

    name: str
    counts: Sequence[str]
    time: str
    is_slowest: bool
    usage: Sequence[str]


@dataclass(frozen=True)
class StageTables:
    """The rows of all stages, and those of the most important ones if there are many."""

    rows: Sequence[StageRow]
    important: Sequence[StageRow] = ()


def steps(stages: Stages, *, wrote: bool) -> list[FunnelStep]:
    """Return the stages that kept items back, and the number of items left at the end.

    A stage that makes more of what it gets, such as clips of films, is a new start: later shares
    are of its items. If the run wrote files, the last stage takes records and returns files.
    """
    return list(_steps(stages, wrote=wrote))


def _steps(stages: Stages, *, wrote: bool) -> Iterator[FunnelStep]:
    last, left, whole, playing_ms, has_begun = len(stages) - 1, 0, 0, 0, False
    for place, (name, counts) in enumerate(stages.items()):
        back, came = items_not_kept(counts), items_received(counts)
        writes = wrote and place == last
        makes_more = came > counts.items_in and not writes
        if makes_more or not whole:
            whole, playing_ms = came, counts.playing_ms
        if back or (makes_more and has_begun):
            made_of = counts.items_in if makes_more and has_begun else 0
            items = counts.items_in if writes else came
            yield FunnelStep(name, items, whole, back, made_of, playing_ms)
            has_begun = True
        left = counts.items_in - back if writes else counts.items_out
        playing_ms = playing_ms if writes else counts.playing_ms
    yield FunnelStep("left at the end", left, whole, playing_ms=playing_ms)


def funnel(stages: Stages, *, wrote: bool) -> Funnel | None:
    """Return how much reached each stage that kept items back, and how much was left at the end."""
    *found, end = steps(stages, wrote=wrote)
    if not found:
        return None
    hidden = len(found) - _MOST_IN_FUNNEL
    if hidden > 0:
        most = sorted(found, key=lambda step: -step.items_not_kept)[:_MOST_IN_FUNNEL]
        found = [step for step in found if step in most]
    return Funnel([*found, end], max(0, hidden))


def stage_tables(stages: Stages, usages: Mapping[str, Usage], seconds: float) -> StageTables:
    """Return the rows of all stages; if there are many, also the most important ones."""
    most = max((counts.seconds for counts in stages.values()), default=0.0)
    rows = {
        name: _row(name, counts, usages.get(name, _NONE), seconds, most)
        for name, counts in stages.items()
    }
    if len(stages) <= _MOST_OPEN:
        return StageTables(list(rows.values()))
    ranked = sorted(stages, key=lambda n: (-items_not_kept(stages[n]), -stages[n].seconds))
    chosen = set(ranked[: _MOST_OPEN // 2])
    chosen |= set(sorted(stages, key=lambda n: -stages[n].seconds)[: _MOST_OPEN // 2])
    return StageTables(list(rows.values()), [row for name, row in rows.items() if name in chosen])


def _row(name: str, counts: StageCounts, usage: Usage, seconds: float, most: float) -> StageRow:
    failed = counts.items_failed + counts.items_rejected
    numbers = (counts.items_in, counts.items_out, counts.items_dropped, failed)
    times = (usage.quantile(0.5), usage.quantile(0.95), usage.longest_s) if usage.tasks else ()
    return StageRow(
        name=name,
        counts=[*map(count, numbers), count(counts.tasks_retried)],
        time=brief(counts.seconds),
        is_slowest=counts.seconds == most > 0,
        usage=[
            rate(items_received(counts) / seconds) if seconds else "",
            *map(brief, times or (0.0, 0.0, 0.0)),
            share(round(1000 * usage.cpu_s), round(1000 * usage.seconds)) if usage.seconds else "",
            size(usage.rss_bytes) if usage.rss_bytes else "",
            count(usage.crashes + usage.timeouts),
        ],
    )
