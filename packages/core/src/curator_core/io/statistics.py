"""Statistics of columns, mergeable so that the counts of many workers add up exactly.

A stage that collects statistics writes one such file per task. The files are published like other
output: once, and removed if their source has changed. So all files together are exactly what the
run has processed, however often it crashed or retried.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions, open_input

GROWTH = 1.02
_LOG = math.log(GROWTH)
_SMALLEST = 1e-9


def bin_of(value: float) -> int:
    """Return the bin of a value, with the same sign as the value; 0 for values below 1e-9.

    Bins are numbered from that smallest value on, so that each number means one bin.
    """
    size = abs(value)
    if size < _SMALLEST:
        return 0
    number = 1 + math.floor(math.log(size / _SMALLEST) / _LOG)
    return number if value > 0 else -number


def middle_of(number: int) -> float:
    """Return the value that represents a bin; no value in the bin is more than 1 % off."""
    if not number:
        return 0.0
    size = _SMALLEST * GROWTH ** (abs(number) - 1) * 2 * GROWTH / (1 + GROWTH)
    return size if number > 0 else -size


@dataclass
class Distribution:
    """Count, range, sums and histogram of numbers."""

    count: int = 0
    not_finite: int = 0
    """Infinities and NaN, which nothing else includes."""
    fractional: int = 0
    """Numbers that are not integers."""
    total: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    bins: Counter[int] = field(default_factory=Counter)

    def add(self, value: float, times: int = 1) -> None:
        if not math.isfinite(value):
            self.not_finite += times
            return
        self.count += times
        self.fractional += times * (value != int(value))
        self.total += value * times
        self.squares += value * value * times
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        self.bins[bin_of(value)] += times

    def merge(self, other: "Distribution") -> None:
        self.count += other.count
        self.not_finite += other.not_finite
        self.fractional += other.fractional
        self.total += other.total
        self.squares += other.squares
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.bins.update(other.bins)

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        if not self.count:
            return math.nan
        return math.sqrt(max(0.0, self.squares / self.count - self.mean**2))

    def quantile(self, share: float) -> float:
        """Return the quantile at `share` (0 to 1), accurate to 1 %; small integers are exact."""
        if not self.count:
            return math.nan
        wanted = share * (self.count - 1)
        seen = 0
        for number in sorted(self.bins):
            seen += self.bins[number]
            if seen > wanted:
                middle = middle_of(number)
                middle = middle if self.fractional else round(middle)
                return min(max(middle, self.least), self.most)
        return self.most

    def to_json(self) -> dict[str, Any]:
        facts = {"count": self.count, "total": self.total, "squares": self.squares}
        for name in ("not_finite", "fractional"):
            if number := getattr(self, name):
                facts[name] = number
        if not self.count:
            return facts
        bins = {str(number): self.bins[number] for number in sorted(self.bins)}
        return {**facts, "least": self.least, "most": self.most, "bins": bins}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        plain = {name: value for name, value in facts.items() if name != "bins"}
        bins = {int(number): times for number, times in facts.get("bins", {}).items()}
        return cls(**plain, bins=Counter(bins))

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        made = cls()
        for value in values:
            made.add(value)
        return made


MAX_VALUES = 10_000
_LONGEST = 200


@dataclass
class ValueCounts:
    """Number of occurrences of each value.

    Counts are exact up to 10,000 distinct values. Beyond that, the most common values are kept and
    the others are counted together.
    """

    counts: Counter[str] = field(default_factory=Counter)
    others: int = 0

    def add(self, value: str, times: int = 1) -> None:
        self.counts[value[:_LONGEST]] += times
        if len(self.counts) > 2 * MAX_VALUES:
            self._shorten()

    def merge(self, other: "ValueCounts") -> None:
        self.counts.update(other.counts)
        self.others += other.others
        if len(self.counts) > 2 * MAX_VALUES:
            self._shorten()

    @property
    def total(self) -> int:
        return self.counts.total() + self.others

    def top(self, number: int) -> list[tuple[str, int]]:
        """Return the most common values; ties are sorted by name."""
        return sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:number]

    def to_json(self) -> dict[str, Any]:
        self._shorten()
        facts: dict[str, Any] = {"counts": dict(self.top(MAX_VALUES))}
        return {**facts, "others": self.others} if self.others else facts

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(Counter(facts["counts"]), facts.get("others", 0))

    def _shorten(self) -> None:
        if len(self.counts) <= MAX_VALUES:
            return
        kept = dict(self.top(MAX_VALUES))
        self.others += self.counts.total() - sum(kept.values())
        self.counts = Counter(kept)


STATISTICS_ENDING = ".statistics.json"
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
