"""Counts of named values: languages, sites, labels."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

MOST = 10_000
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
        if len(self.counts) > 2 * MOST:
            self._shorten()

    def merge(self, other: "ValueCounts") -> None:
        self.counts.update(other.counts)
        self.others += other.others
        if len(self.counts) > 2 * MOST:
            self._shorten()

    @property
    def total(self) -> int:
        return self.counts.total() + self.others

    def top(self, number: int) -> list[tuple[str, int]]:
        """Return the most common values; ties are sorted by name."""
        return sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:number]

    def to_json(self) -> dict[str, Any]:
        self._shorten()
        facts: dict[str, Any] = {"counts": dict(self.top(MOST))}
        return {**facts, "others": self.others} if self.others else facts

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(Counter(facts["counts"]), facts.get("others", 0))

    def _shorten(self) -> None:
        if len(self.counts) <= MOST:
            return
        kept = dict(self.top(MOST))
        self.others += self.counts.total() - sum(kept.values())
        self.counts = Counter(kept)
