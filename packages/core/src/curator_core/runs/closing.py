"""Closing: what is still done to the account of sources when they are done."""

from dataclasses import replace

from curator_core.results import QuarantineRecord, StageCounts
from curator_core.runs.ledger import Group
from curator_core.runs.listing import Source


def label(group: Group, sources: list[Source]) -> None:
    """Name the files that things in quarantine come from."""
    labels = {source.source_id: source.label for source in sources}
    group.account.quarantined = [
        replace(record, source=labels.get(record.source_id, ""))
        for record in group.account.quarantined
    ]


def take_back_failures(group: Group, sources: list[Source]) -> None:
    """What is retried counted as failed before: it must not count twice."""
    for record in (source.replaces for source in sources if source.replaces):
        undone = StageCounts(tasks_in=-1, tasks_failed=-1)
        undone.items_in = undone.items_failed = -record.items
        group.account.of(record.stage_index).add(undone)


def shown_records(group: Group, *, is_kept: bool) -> list[QuarantineRecord]:
    """Where payloads are kept on disk, they need no room in memory too."""
    if not is_kept:
        return group.account.quarantined
    return [replace(record, payload=None) for record in group.account.quarantined]
