"""Reports: the plain data that a worker call returns besides its outputs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core.model.lineage import HALF, WHOLE, Lineage, SourceKey
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.samples import Sample
from curator_core.model.tasks import StagedFile
from curator_core.model.usage import Usages

Counts: TypeAlias = Mapping[int, StageCounts]
Cell: TypeAlias = tuple[int, str]
"""Index of a stage and name of a count."""


class CountTable:
    """Counts per source, stored by column. A column of equal values is stored as one value."""

    __slots__ = ("_columns", "_total", "keys")

    def __init__(self, rows: Mapping[SourceKey, Counts]) -> None:
        self.keys = list(rows)
        self._columns: dict[Cell, Any] = {
            cell: _shorten(column) for cell, column in _columns_of(list(rows.values())).items()
        }
        self._total: dict[int, StageCounts] | None = None

    def total(self) -> Counts:
        """Return the sum over all sources."""
        if self._total is None:
            self._total = {}
            for (index, name), column in self._columns.items():
                counts = self._total.setdefault(index, StageCounts())
                setattr(counts, name, _sum(name, column, len(self.keys)))
        return self._total

    def rows(self) -> Iterator[tuple[SourceKey, dict[int, StageCounts]]]:
        """Yield each source with its own counts."""
        for position, key in enumerate(self.keys):
            yield key, self._row(position)

    def _row(self, position: int) -> dict[int, StageCounts]:
        found: dict[int, StageCounts] = {}
        for (index, name), column in self._columns.items():
            value = column[position] if isinstance(column, list) else column
            if value:
                counts = found.setdefault(index, StageCounts())
                setattr(counts, name, dict(value) if isinstance(value, dict) else value)
        return found


def _columns_of(rows: list[Counts]) -> dict[Cell, list[Any]]:
    """Return the columns that have a nonzero value."""
    columns: dict[Cell, list[Any]] = {}
    nothing = [0] * len(rows)
    for position, row in enumerate(rows):
        for index, counts in row.items():
            for name, value in counts.__dict__.items():
                if value:
                    if (column := columns.get((index, name))) is None:
                        column = columns[index, name] = nothing.copy()
                    column[position] = value
    return columns


def _shorten(column: list[Any]) -> Any:
    first = column[0]
    return first if column.count(first) == len(column) else column


def _sum(name: str, column: Any, times: int) -> Any:
    values = column if isinstance(column, list) else [column] * times
    if name not in ("reasons", "scores", "models", "metrics"):
        return sum(values)
    total = StageCounts()
    for value in filter(None, values):
        one = StageCounts()
        setattr(one, name, value)
        total.add(one)
    return getattr(total, name)


Keys: TypeAlias = tuple[SourceKey, ...]


@dataclass
class Part:
    """Counts and quarantine records of tasks made from exactly the same sources."""

    counts: dict[int, StageCounts] = field(default_factory=dict)
    quarantined: list[QuarantineRecord] = field(default_factory=list)

    def of(self, stage_index: int) -> StageCounts:
        if stage_index not in self.counts:
            self.counts[stage_index] = StageCounts()
        return self.counts[stage_index]

    def take(self, other: "Part") -> None:
        """Add a part that is not used elsewhere: it may be adopted without a copy."""
        if self.counts:
            self.add(other)
            return
        self.counts = dict(other.counts)
        self.quarantined += other.quarantined

    def add(self, other: "Part") -> None:
        for index, more in other.counts.items():
            self.of(index).add(more)
        self.quarantined += other.quarantined


@dataclass(frozen=True, slots=True)
class CompactReport:
    """A complete report in short form, if each task has one source and there are only counts."""

    tally: CountTable
    wholes: frozenset[SourceKey]
    """Sources whose whole credit was returned; the others returned half."""


class CallReport:
    """Returned credit, staged files, failures and counts of a call.

    Counts are kept per source: a call may carry several, and some of them may be run again. A
    report is sent to other processes in its `compact` form if possible, and unfolded when its parts
    are read.
    """

    def __init__(self, lost: Lineage | None = None) -> None:
        self.lost: Lineage = {} if lost is None else lost
        self.staged: list[tuple[StagedFile, Keys]] = []
        self.compact: CompactReport | None = None
        self.usages = Usages()
        self.samples: list[Sample] = []
        self._spent: Lineage = {}
        self._parts: dict[Keys, Part] = {}

    def __getstate__(self) -> dict[str, Any]:
        compact = self.compact or self._as_compact()
        return {
            **vars(self),
            "compact": compact,
            **({"_spent": {}, "_parts": {}} if compact else {}),
        }

    @property
    def spent(self) -> Lineage:
        self._unfold()
        return self._spent

    @property
    def parts(self) -> dict[Keys, Part]:
        self._unfold()
        return self._parts

    def spend(self, lineage: Lineage) -> None:
        _add(self.spent, lineage)

    def lose(self, lineage: Lineage) -> None:
        _add(self.lost, lineage)

    def part(self, sources: Iterable[SourceKey]) -> Part:
        """Return the part of these sources, to add to."""
        keys = tuple(sources)
        parts = self.parts
        if (part := parts.get(keys)) is None:
            part = parts[keys] = Part()
        return part

    def add(self, other: "CallReport") -> None:
        """Add the counts, failures and usage of another call, without its credit and files."""
        self.usages.add(other.usages)
        for keys, more in other.parts.items():
            self.part(keys).add(more)

    # Totals over all sources

    def total(self) -> Part:
        if self.compact is not None:
            return Part(dict(self.compact.tally.total()))
        total = Part()
        for part in self.parts.values():
            total.add(part)
        return total

    @property
    def counts(self) -> dict[int, StageCounts]:
        return self.total().counts

    @property
    def quarantined(self) -> list[QuarantineRecord]:
        return [record for part in self.parts.values() for record in part.quarantined]

    def of(self, stage_index: int) -> StageCounts:
        return self.total().of(stage_index)

    def _as_compact(self) -> CompactReport | None:
        if self.lost or self.staged or len(self._spent) != len(self._parts) or not self._parts:
            return None
        wholes = []
        for keys, part in self._parts.items():
            share = self._spent.get(keys[0])
            if len(keys) > 1 or part.quarantined or share is None:
                return None
            if share is WHOLE or share == WHOLE:
                wholes.append(keys[0])
            elif not (share is HALF or share == HALF):
                return None
        rows = {keys[0]: part.counts for keys, part in self._parts.items()}
        return CompactReport(CountTable(rows), frozenset(wholes))

    def _unfold(self) -> None:
        if self.compact is None:
            return
        compact, self.compact = self.compact, None
        for key, counts in compact.tally.rows():
            self._spent[key] = WHOLE if key in compact.wholes else HALF
            self._parts[key,] = Part(counts)


def _add(total: Lineage, more: Lineage) -> None:
    """Add to the report's own lineage, in place; lineages of tasks are shared and never changed."""
    for key, credit in more.items():
        if (before := total.get(key)) is None:
            total[key] = credit
        else:
            total[key] = WHOLE if before is HALF and credit is HALF else before + credit
