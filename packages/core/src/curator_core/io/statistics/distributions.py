"""Distributions of numbers in fixed bins, so that merging is exact.

A bin reaches from one power of 1.02 to the next, so quantiles are accurate to 1 % from 1e-9 to the
largest numbers. In practice a few hundred bins are used.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

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
