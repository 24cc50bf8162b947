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
