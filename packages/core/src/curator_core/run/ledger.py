"""Ledger: which sources are complete, according to the credit that was returned."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from curator_core.model.files import FileGroup
from curator_core.model.lineage import HALF, WHOLE, Lineage, SourceKey
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import Part
from curator_core.model.tasks import AnyTask, StagedFile
from curator_core.run.sources import Source

_NOTHING = Fraction(0)


@dataclass
class Group:
    """Sources that must be published together, because they share an output."""

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
    """Open sources and their returned credit. Pure bookkeeping: no files, no clock.

    Most sources are plain: half of their credit returns with an output, half with a report. A group
    is created only for sources with more to record.
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
        """Start the next attempt at a source; return its number."""
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
        """Return None if every source of `lineage` is at its current attempt.

        Otherwise return those that are current but mixed with a void attempt: they have to run
        again.
        """
        keys = list(lineage)
        if len(keys) == 1:  # the common case, on a hot path
            return None if self.is_current(keys[0]) else set()
        current = {key[0] for key in keys if self.is_current(key)}
        return None if len(current) == len(keys) else current

    def group_with(self, source_id: str) -> Group:
        """Return the group of a source, which is then no longer plain."""
        if (group := self._groups.get(source_id)) is None:
            credit = _NOTHING
            if source_id in self._halves:
                self._halves.discard(source_id)
                credit = HALF
            group = self._groups[source_id] = Group({source_id: credit})
        return group

    def group_of(self, keys: Iterable[SourceKey]) -> Group:
        """Return the group of these sources; several sources are merged into one group."""
        ids = [key[0] for key in keys]
        group = self.group_with(ids[0])
        for source_id in ids[1:]:
            other = self.group_with(source_id)
            if other is not group:
                group.merge(other)
                self._groups.update(dict.fromkeys(other.credit, group))
        return group

    def credit(self, lineage: Lineage) -> None:
        """Add returned credit; credit of void attempts is ignored."""
        for key, share in lineage.items():
            if self.is_current(key) and not self._is_first_half(key[0], share):
                group = self.group_with(key[0])
                before = group.credit[key[0]]
                group.credit[key[0]] = share if before is _NOTHING else before + share
                if group.credit[key[0]] > WHOLE:
                    raise AssertionError(f"source {key[0]}: more credit came back than was given")

    def credit_all(self, lineages: Iterable[Lineage]) -> None:
        """Add many credits; outputs of one message share their fraction objects."""
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

    def would_complete(self, key: SourceKey, *, whole: bool) -> bool:
        """Whether the remaining (or `whole`) credit, returned now, completes a plain source."""
        source_id, attempt = key
        return (
            self._attempts.get(source_id) == attempt
            and source_id not in self._groups
            and (source_id in self._halves) is not whole
        )

    def accounts(self) -> Iterator[Mapping[int, StageCounts]]:
        """Yield the counts that open sources have reported so far, once per group."""
        for group in {id(group): group for group in self._groups.values()}.values():
            yield group.account.counts

    def close_compact(self, source_id: str) -> None:
        """Close a plain source that is due."""
        del self._attempts[source_id]
        self._halves.discard(source_id)

    def close(self, group: Group) -> None:
        for source_id in group.credit:
            del self._groups[source_id]
            del self._attempts[source_id]

    def reopen(self, source_id: str) -> list[str]:
        """Void the current attempts at a source's group; return the sources to run again."""
        sources = self.group_with(source_id).sources
        for member in sources:
            self.open(member)
        return sources

    def _is_first_half(self, source_id: str, share: Fraction) -> bool:
        """Record the first half of the credit of a source that has no other record."""
        if not self._is_untouched(source_id) or not (share is HALF or share == HALF):
            return False
        self._halves.add(source_id)
        return True

    def _is_untouched(self, source_id: str) -> bool:
        return source_id not in self._groups and source_id not in self._halves


class EmittedOutputs:
    """The outputs of open sources that were emitted.

    A source that is run again repeats outputs: same id, same data.
    """

    def __init__(self) -> None:
        self._ids: dict[str, set[str] | tuple[str, ...]] = {}

    def is_first(self, output: AnyTask) -> bool:
        """Mark an output as emitted; return whether it was not before."""
        shown, task_id = self._ids, output.task_id
        sources = [key[0] for key in output.lineage]
        if any(task_id in shown.get(source, ()) for source in sources):
            return False
        for source in sources:
            before = shown.get(source)
            if isinstance(before, set):
                before.add(task_id)
            else:  # most sources have one output: a tuple is smaller
                shown[source] = {*before, task_id} if before else (task_id,)
        return True

    def forget(self, source_id: str) -> None:
        self._ids.pop(source_id, None)


Totals: TypeAlias = dict[int, StageCounts]


def add_to(totals: Totals, counts: Mapping[int, StageCounts]) -> None:
    for index, more in counts.items():
        totals.setdefault(index, StageCounts()).add(more)


def label_records(group: Group, sources: list[Source]) -> None:
    """Add to quarantined records the names of the files that they come from."""
    labels = {source.source_id: source.label for source in sources}
    group.account.quarantined = [
        replace(record, source=labels.get(record.source_id, ""))
        for record in group.account.quarantined
    ]


def subtract_retried_failures(group: Group, sources: list[Source]) -> None:
    """Subtract the earlier failures of retried sources, so that they do not count twice.

    A task with a rejected record did not fail: it continued without that record.
    """
    for source in sources:
        if (record := source.replaces) is None:
            continue
        undone = StageCounts(items_in=-record.items, bytes_in=-source.task.num_bytes)
        if record.whole_task and isinstance(source.task, FileGroup):
            undone.files_in = -record.items
        if record.whole_task:
            undone.tasks_in = undone.tasks_failed = -1
            undone.items_failed = -record.items
        else:
            undone.items_rejected = -record.items
        group.account.of(record.stage_index).add(undone)


def result_records(group: Group, *, is_kept: bool) -> list[QuarantineRecord]:
    """Return quarantined records, without payloads if these are stored on disk."""
    if not is_kept:
        return group.account.quarantined
    return [replace(record, payload=None, subtask=None) for record in group.account.quarantined]
