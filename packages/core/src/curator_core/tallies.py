"""Tallies: what a call counted of sources that have nothing to tell but numbers, by column.

A call carries hundreds of small sources, and each stage counts a dozen things of each of them. As
objects these cost more to send and to add up than most stages take; as columns they cost little.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from curator_core.lineage import SourceKey
from curator_core.results import StageCounts

Counts: TypeAlias = Mapping[int, StageCounts]
Cell: TypeAlias = tuple[int, str]
"""A stage, and what of it is counted."""


class Tally:
    """The counts of single sources; a column whose values are all alike is that value."""

    __slots__ = ("_columns", "_total", "keys")

    def __init__(self, rows: Mapping[SourceKey, Counts]) -> None:
        self.keys = list(rows)
        self._columns: dict[Cell, Any] = {
            cell: _shortened(column) for cell, column in _columns_of(list(rows.values())).items()
        }
        self._total: dict[int, StageCounts] | None = None

    def total(self) -> Counts:
        """All sources together."""
        if self._total is None:
            self._total = {}
            for (index, name), column in self._columns.items():
                counts = self._total.setdefault(index, StageCounts())
                setattr(counts, name, _sum(name, column, len(self.keys)))
        return self._total

    def rows(self) -> Iterator[tuple[SourceKey, dict[int, StageCounts]]]:
        """Each source with its own counts, exactly as they were."""
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
    """Only what is not zero throughout."""
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


def _shortened(column: list[Any]) -> Any:
    first = column[0]
    return first if column.count(first) == len(column) else column


def _sum(name: str, column: Any, times: int) -> Any:
    values = column if isinstance(column, list) else [column] * times
    if name not in ("reasons", "scores", "models"):
        return sum(values)
    total = StageCounts()
    for value in filter(None, values):
        one = StageCounts()
        setattr(one, name, value)
        total.add(one)
    return getattr(total, name)
