"""Column summaries, in files that can be merged.

A stage that collects statistics writes one such file per task. The files are published like other
output: once, and removed if their source has changed. So all files together are exactly what the
run has processed, however often it crashed or retried.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions, open_input
from curator_core.io.statistics.distributions import Distribution
from curator_core.io.statistics.values import ValueCounts

FILE_ENDING = ".statistics.json"
_FORMAT = 1


@dataclass
class ColumnSummary:
    """Content of a column: numbers, named values, or nulls."""

    missing: int = 0
    numbers: Distribution = field(default_factory=Distribution)
    values: ValueCounts = field(default_factory=ValueCounts)

    def add(self, value: float | str | bool | None, times: int = 1) -> None:
        if value is None:
            self.missing += times
        elif isinstance(value, bool | str):
            self.values.add(str(value), times)
        else:
            self.numbers.add(value, times)

    def merge(self, other: "ColumnSummary") -> None:
        self.missing += other.missing
        self.numbers.merge(other.numbers)
        self.values.merge(other.values)

    def to_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"missing": self.missing}
        if self.numbers.count or self.numbers.not_finite:
            facts["numbers"] = self.numbers.to_json()
        if self.values.total:
            facts["values"] = self.values.to_json()
        return facts

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(
            facts["missing"],
            Distribution.from_json(facts.get("numbers", {})),
            ValueCounts.from_json(facts.get("values", {"counts": {}})),
        )


@dataclass
class Summary:
    """Summaries of the columns of some records."""

    columns: dict[str, ColumnSummary] = field(default_factory=dict)

    def column(self, name: str) -> ColumnSummary:
        return self.columns.setdefault(name, ColumnSummary())

    def merge(self, other: "Summary") -> None:
        for name, column in other.columns.items():
            self.column(name).merge(column)

    def to_json(self) -> dict[str, Any]:
        columns = {name: column.to_json() for name, column in self.columns.items()}
        return {"format": _FORMAT, "columns": columns}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}, where {_FORMAT} is known")
        columns = {n: ColumnSummary.from_json(column) for n, column in facts["columns"].items()}
        return cls(columns)


def read_summary(paths: Iterable[str], storage_options: StorageOptions | None = None) -> Summary:
    """Return the merged statistics of the files; in sorted order, so that sums are reproducible."""
    total = Summary()
    for path in sorted(paths):
        with open_input(path, storage_options) as file:
            try:
                total.merge(Summary.from_json(json.loads(file.read())))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{path} holds no statistics: {error!r}") from None
    return total
