"""The ledger: which sources are complete, by the credit that came back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from curator_core.model.lineage import HALF, WHOLE, Lineage, SourceKey
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import Part
from curator_core.model.tasks import AnyTask, StagedFile
from curator_core.run.sources import Source

_NOTHING = Fraction(0)


@dataclass
class Group:
    """Sources that are published together, because some output was made of all of them."""

    credit: dict[str, Fraction] = field(default_factory=dict)
    files: list[StagedFile] = field(default_factory=list)
    outputs: list[AnyTask] = field(default_factory=list)
    account: Part = field(default_factory=Part)
    lost: bool = False

    @property
    def sources(self) -> list[str]:
        return list(self.credit)

    @property
    def is_complete(self) -> bool:
        return all(credit == WHOLE for credit in self.credit.values())

    def merge(self, other: "Group") -> None:
        self.credit.update(other.credit)
        self.files += other.files
        self.outputs += other.outputs
        self.lost = self.lost or other.lost
        self.account.add(other.account)


class Ledger:
    """Open sources and what has come back of them. Pure bookkeeping: no files, no clock.

    Most sources are plain: half of their credit comes back with an output, half with a report. A
    group is made only of those of which there is more to say.
    """

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._attempts: dict[str, int] = {}
        self._halves: set[str] = set()

    def __len__(self) -> int:
        return len(self._attempts)

    def __contains__(self, source_id: str) -> bool:
        return source_id in self._attempts

    def open(self, source_id: str) -> int:
        """Begin the next attempt at a source; the number of that attempt."""
        attempt = self._attempts[source_id] = self._attempts.get(source_id, 0) + 1
        if attempt > 1:
            self._groups.pop(source_id, None)
            self._halves.discard(source_id)
        return attempt

    def attempt(self, source_id: str) -> int:
        return self._attempts[source_id]

    def is_current(self, key: SourceKey) -> bool:
        return self._attempts.get(key[0]) == key[1]

    def stale(self, lineage: Iterable[SourceKey]) -> set[str] | None:
        """None where every source of `lineage` is at its current attempt.

        Otherwise the sources that are current, and are mixed with something that is void: they
        have to be run again.
        """
        keys = list(lineage)
        if len(keys) == 1:  # as nearly always, and for every output and every part
            return None if self.is_current(keys[0]) else set()
        current = {key[0] for key in keys if self.is_current(key)}
        return None if len(current) == len(keys) else current

    def group_with(self, source_id: str) -> Group:
        """The group of a source. It is no plain one any more."""
        if (group := self._groups.get(source_id)) is None:
            credit = _NOTHING
            if source_id in self._halves:
                self._halves.discard(source_id)
                credit = HALF
            group = self._groups[source_id] = Group({source_id: credit})
        return group

    def group_of(self, keys: Iterable[SourceKey]) -> Group:
        """The group of these sources, bound together from now on where they are several."""
        ids = [key[0] for key in keys]
        group = self.group_with(ids[0])
        for source_id in ids[1:]:
            other = self.group_with(source_id)
            if other is not group:
                group.merge(other)
                self._groups.update(dict.fromkeys(other.credit, group))
        return group

    def credit(self, lineage: Lineage) -> None:
        """Take back credit; what belongs to a void attempt is not counted."""
        for key, share in lineage.items():
            if self.is_current(key) and not self._is_first_half(key[0], share):
                group = self.group_with(key[0])
                before = group.credit[key[0]]
                group.credit[key[0]] = share if before is _NOTHING else before + share
                if group.credit[key[0]] > WHOLE:
                    raise AssertionError(f"source {key[0]}: more credit came back than was given")

    def credit_all(self, lineages: Iterable[Lineage]) -> None:
        """The same for many: those that came in one parcel share their fractions."""
        known: Fraction | None = None
        for lineage in lineages:
            for key, share in lineage.items():
                if share is not known and share == HALF:
                    known = share
                source_id, attempt = key
                if self._attempts.get(source_id) != attempt:
                    continue
                if share is known and self._is_untouched(source_id):
                    self._halves.add(source_id)
                else:
                    self.credit({key: share})

    def is_due(self, key: SourceKey, *, whole: bool) -> bool:
        """Whether a plain source is done when the rest of its credit, or all, comes back now."""
        source_id, attempt = key
        return (
            self._attempts.get(source_id) == attempt
            and source_id not in self._groups
            and (source_id in self._halves) is not whole
        )

    def accounts(self) -> Iterator[Mapping[int, StageCounts]]:
        """What open sources have reported so far, each group once."""
        for group in {id(group): group for group in self._groups.values()}.values():
            yield group.account.counts

    def close_plain(self, source_id: str) -> None:
        """Close a source that is due."""
        del self._attempts[source_id]
        self._halves.discard(source_id)

    def close(self, group: Group) -> None:
        for source_id in group.credit:
            del self._groups[source_id]
            del self._attempts[source_id]

    def reopen(self, source_id: str) -> list[str]:
        """Void all attempts at the source's group; the sources that have to be run again."""
        sources = self.group_with(source_id).sources
        for member in sources:
            self.open(member)
        return sources

    def _is_first_half(self, source_id: str, share: Fraction) -> bool:
        """Note the first half of a source about which nothing else is known."""
        if not self._is_untouched(source_id) or not (share is HALF or share == HALF):
            return False
        self._halves.add(source_id)
        return True

    def _is_untouched(self, source_id: str) -> bool:
        return source_id not in self._groups and source_id not in self._halves


Totals: TypeAlias = dict[int, StageCounts]


def add_to(totals: Totals, counts: Mapping[int, StageCounts]) -> None:
    for index, more in counts.items():
        totals.setdefault(index, StageCounts()).add(more)


def take_from(totals: Totals, counts: Mapping[int, StageCounts]) -> None:
    for index, less in counts.items():
        total = totals.setdefault(index, StageCounts())
        total.add(less.negative())
        total.reasons = {reason: items for reason, items in total.reasons.items() if items}
        total.models = {model: items for model, items in total.models.items() if items}
        total.scores = {name: scores for name, scores in total.scores.items() if scores}


def label(group: Group, sources: list[Source]) -> None:
    """Name the files that things in quarantine come from."""
    labels = {source.source_id: source.label for source in sources}
    group.account.quarantined = [
        replace(record, source=labels.get(record.source_id, ""))
        for record in group.account.quarantined
    ]


def take_back_failures(group: Group, sources: list[Source]) -> None:
    """What is retried counted as failed before: it must not count twice.

    The task that a record was rejected of has not failed: it went on without that record.
    """
    for source in sources:
        if (record := source.replaces) is None:
            continue
        undone = StageCounts(items_in=-record.items, bytes_in=-source.task.num_bytes)
        if record.whole_task:
            undone.tasks_in = undone.tasks_failed = -1
            undone.items_failed = -record.items
        else:
            undone.items_rejected = -record.items
        group.account.of(record.stage_index).add(undone)


def shown_records(group: Group, *, is_kept: bool) -> list[QuarantineRecord]:
    """Where payloads are kept on disk, they need no room in memory too."""
    if not is_kept:
        return group.account.quarantined
    return [replace(record, payload=None, subtask=None) for record in group.account.quarantined]
