"""Stages on the report page: a funnel, and a table of counts, times and resources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from curator_core import StageCounts
from curator_core.model.formatting import brief, count, rate, share, size
from curator_core.model.usage import Usage

_MOST_OPEN = 40
"""With more stages than this, the full table is collapsed."""

_MOST_IN_FUNNEL = 24
_NONE = Usage()

Stages = Mapping[str, StageCounts]


@dataclass(frozen=True)
class FunnelStep:
    """How many items are left after a stage, of how many, and how many it kept back."""

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

    @property
    def percent_not_kept(self) -> float:
        return 100 * self.items_not_kept / (self.of or 1)


@dataclass(frozen=True)
class Funnel:
    """The steps that the page shows, and how many more there are."""

    steps: Sequence[FunnelStep]
    hidden: int


def steps(stages: Stages) -> list[FunnelStep]:
    """Return the items read, those left after each stage that kept some back, and those at the end.

    A stage that makes more of what it gets, such as clips of films, is a new start: later shares
    are of its items.
    """
    return list(_steps(stages))


def _steps(stages: Stages) -> Iterator[FunnelStep]:
    left = whole = playing_ms = 0
    name, end = "", "left"
    for name, counts in stages.items():
        received, back, writes = counts.items_received, counts.items_not_kept, _is_writer(counts)
        makes_more = received > counts.records_in and not writes
        playing_ms = playing_ms if writes else counts.playing_ms
        if not received:
            continue
        if not whole:
            whole, left = received, received
            yield FunnelStep(f"read: {name}", whole, whole, playing_ms=playing_ms)
        elif makes_more:
            made_of, whole, left = counts.records_in, received, received
            yield FunnelStep(name, whole, whole, made_of=made_of, playing_ms=playing_ms)
        if back:
            left -= back
            yield FunnelStep(name, left, whole, back, playing_ms=playing_ms)
        end = f"written: {name}" if writes else "left"
        left = counts.records_out
    if whole:
        yield FunnelStep(end, left, whole, playing_ms=playing_ms)


def _is_writer(counts: StageCounts) -> bool:
    return bool(counts.files_out and counts.records_in)


def funnel(stages: Stages) -> Funnel | None:
    """Return the steps for the page; None if no stage kept anything back."""
    found = steps(stages)
    if not any(step.items_not_kept or step.made_of for step in found):
        return None
    first, *inner, end = found
    hidden = len(inner) - _MOST_IN_FUNNEL
    if hidden > 0:
        most = sorted(inner, key=lambda step: -step.items_not_kept)[:_MOST_IN_FUNNEL]
        inner = [step for step in inner if step in most]
    return Funnel([first, *inner, end], max(0, hidden))


@dataclass(frozen=True)
class Column:
    """A column of the table of stages: its name, and its unit or meaning."""

    name: str
    unit: str = ""


COLUMNS = (
    Column("files"),
    Column("in", "records"),
    Column("out", "records"),
    Column("dropped", "records"),
    Column("failed", "records"),
    Column("retried", "batches"),
    Column("size", "of output"),
    Column("time", "in stage"),
    Column("speed", "records/s"),
    Column("median", "per batch"),
    Column("95 % under", "per batch"),
    Column("longest", "per batch"),
    Column("CPU", "of its time"),
    Column("memory", "of a worker"),
    Column("crashed", "workers"),
)


@dataclass(frozen=True)
class StageRow:
    """A row of the table of stages."""

    name: str
    cells: Sequence[str]
    is_slowest: bool = False


@dataclass(frozen=True)
class StageTables:
    """The rows of all stages, and those of the most important ones if there are many."""

    columns: Sequence[Column] = ()
    rows: Sequence[StageRow] = ()
    important: Sequence[StageRow] = ()
    fused: Sequence[str] = field(default=())
    """Stages that ran in one pass with the stage above, which has the time of all of them."""

    time_column: int = -1


def stage_tables(
    stages: Stages, usages: Mapping[str, Usage], fused: Sequence[str] = ()
) -> StageTables:
    """Return the rows of all stages; if there are many, also the most important ones.

    `fused` are stages that ran in one pass with the stage above. Columns that are empty for all
    stages are left out.
    """
    most = max((counts.seconds for counts in stages.values()), default=0.0)
    hides_memory = _is_equal([usage.rss_bytes for usage in usages.values()])
    cells = {
        name: _cells(counts, usages.get(name, _NONE), hides_memory=hides_memory)
        for name, counts in stages.items()
    }
    places = [place for place in range(len(COLUMNS)) if any(row[place] for row in cells.values())]
    rows = {
        name: StageRow(name, [row[place] for place in places], stages[name].seconds == most > 0)
        for name, row in cells.items()
    }
    columns = [COLUMNS[place] for place in places]
    time = next((at for at, column in enumerate(columns) if column.name == "time"), -1)
    tables = StageTables(columns, list(rows.values()), (), [n for n in fused if n in rows], time)
    if len(stages) <= _MOST_OPEN:
        return tables
    ranked = sorted(stages, key=lambda n: (-stages[n].items_not_kept, -stages[n].seconds))
    chosen = set(ranked[: _MOST_OPEN // 2])
    chosen |= set(sorted(stages, key=lambda n: -stages[n].seconds)[: _MOST_OPEN // 2])
    important = [row for name, row in rows.items() if name in chosen]
    return StageTables(columns, tables.rows, important, tables.fused, time)


def _is_equal(sizes: Sequence[int]) -> bool:
    """Return whether the stages shared their processes: then memory says nothing about a stage."""
    known = [number for number in sizes if number]
    return not known or max(known) < 1.2 * min(known)


def _cells(counts: StageCounts, usage: Usage, *, hides_memory: bool) -> list[str]:
    times = (usage.quantile(0.5), usage.quantile(0.95), usage.longest_s) if usage.tasks else ()
    numbers = (
        counts.files,
        counts.records_in,
        counts.records_out,
        counts.items_dropped,
        counts.items_failed + counts.items_rejected,
        counts.tasks_retried,
    )
    return [
        *(count(number) if number else "" for number in numbers),
        size(counts.bytes_out) if counts.bytes_out else "",
        brief(counts.seconds),
        speed_of(counts),
        *map(brief, times or (0.0, 0.0, 0.0)),
        share(round(1000 * usage.cpu_s), round(1000 * usage.seconds)) if usage.seconds else "",
        size(usage.rss_bytes) if usage.rss_bytes and not hides_memory else "",
        count(usage.crashes + usage.timeouts) if usage.crashes + usage.timeouts else "",
    ]


def speed_of(counts: StageCounts) -> str:
    """Return records per second of time in the stage, however many workers shared it."""
    return rate(counts.items_received / counts.seconds) if counts.seconds else ""
