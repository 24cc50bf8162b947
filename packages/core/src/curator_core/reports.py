"""What a call of a worker reports besides its outputs. Plain data: it travels between processes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core.lineage import HALF, WHOLE, Lineage, SourceKey
from curator_core.results import QuarantineRecord, StageCounts
from curator_core.samples import Sample
from curator_core.tallies import Tally
from curator_core.tasks import StagedFile
from curator_core.usages import Usages

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


@dataclass(frozen=True, slots=True)
class Plain:
    """A whole report of sources that went through one by one, with nothing to tell but counts."""

    tally: Tally
    wholes: frozenset[SourceKey]
    """Of these all of the credit came back with the report; of the others half of it."""


class CallReport:
    """Credit that came back, files that wait to be published, failures and counts.

    What happened is kept by source, for a call may carry several, and some of them may be run
    again: each account then stands or falls with its own sources. On its way to another process
    a report becomes `plain`, where it is, and is so until somebody looks at its parts.
    """

    def __init__(self, lost: Lineage | None = None) -> None:
        self.lost: Lineage = {} if lost is None else lost
        self.staged: list[tuple[StagedFile, Keys]] = []
        self.plain: Plain | None = None
        self.usages = Usages()
        self.samples: list[Sample] = []
        self._spent: Lineage = {}
        self._parts: dict[Keys, Part] = {}

    def __getstate__(self) -> dict[str, Any]:
        plain = self.plain or self._as_plain()
        return {**vars(self), "plain": plain, **({"_spent": {}, "_parts": {}} if plain else {})}

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
        """The part of these sources, to be added to."""
        keys = tuple(sources)
        parts = self.parts
        if (part := parts.get(keys)) is None:
            part = parts[keys] = Part()
        return part

    def add(self, other: "CallReport") -> None:
        """Take over what another call did; its credit and its files stay with it."""
        self.usages.add(other.usages)
        for keys, more in other.parts.items():
            self.part(keys).add(more)

    # All sources together

    def total(self) -> Part:
        if self.plain is not None:
            return Part(dict(self.plain.tally.total()))
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

    def _as_plain(self) -> Plain | None:
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
        return Plain(Tally(rows), frozenset(wholes))

    def _unfold(self) -> None:
        if self.plain is None:
            return
        plain, self.plain = self.plain, None
        for key, counts in plain.tally.rows():
            self._spent[key] = WHOLE if key in plain.wholes else HALF
            self._parts[key,] = Part(counts)


def _add(total: Lineage, more: Lineage) -> None:
    """Into the report's own account; lineages of tasks are shared, and never changed."""
    for key, credit in more.items():
        if (before := total.get(key)) is None:
            total[key] = credit
        else:
            total[key] = WHOLE if before is HALF and credit is HALF else before + credit
