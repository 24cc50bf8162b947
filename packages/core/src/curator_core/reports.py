"""What a call of a worker reports besides its outputs. Plain data: it travels between processes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from curator_core.lineage import Lineage, SourceKey
from curator_core.results import QuarantineRecord, StageCounts
from curator_core.tasks import StagedFile

Keys: TypeAlias = tuple[SourceKey, ...]


@dataclass
class Part:
    """What a call did with tasks of one source, or with such as are made of these very sources."""

    counts: dict[int, StageCounts] = field(default_factory=dict)
    quarantined: list[QuarantineRecord] = field(default_factory=list)

    def of(self, stage_index: int) -> StageCounts:
        if stage_index not in self.counts:
            self.counts[stage_index] = StageCounts()
        return self.counts[stage_index]

    def take(self, other: "Part") -> None:
        """`add` what nobody else is going to look at or change any more."""
        if self.counts:
            self.add(other)
            return
        self.counts = dict(other.counts)
        self.quarantined += other.quarantined

    def add(self, other: "Part") -> None:
        for index, more in other.counts.items():
            self.of(index).add(more)
        self.quarantined += other.quarantined


@dataclass
class CallReport:
    """Credit that came back, files that wait to be published, failures and counts.

    What happened is kept by source, for a call may carry several, and some of them may be run
    again: each account then stands or falls with its own sources.
    """

    spent: Lineage = field(default_factory=dict)
    lost: Lineage = field(default_factory=dict)
    staged: list[tuple[StagedFile, Keys]] = field(default_factory=list)
    parts: dict[Keys, Part] = field(default_factory=dict)

    def spend(self, lineage: Lineage) -> None:
        _add(self.spent, lineage)

    def lose(self, lineage: Lineage) -> None:
        _add(self.lost, lineage)

    def part(self, sources: Iterable[SourceKey]) -> Part:
        """The part of these sources, to be added to."""
        keys = tuple(sources)
        if keys not in self.parts:
            self.parts[keys] = Part()
        return self.parts[keys]

    def add(self, other: "CallReport") -> None:
        """Take over what another call did; its credit and its files stay with it."""
        for keys, more in other.parts.items():
            self.part(keys).add(more)

    # All sources together

    def total(self) -> Part:
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


def _add(total: Lineage, more: Lineage) -> None:
    """Into the report's own account; lineages of tasks are shared, and never changed."""
    for key, credit in more.items():
        total[key] = total[key] + credit if key in total else credit
