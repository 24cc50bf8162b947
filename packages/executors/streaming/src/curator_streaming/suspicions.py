"""Suspicions: which tasks of a call a dead worker was at."""

from collections.abc import Iterable, Iterator

from curator_core.local.shared_status import StageStatus

from curator_streaming.scheduling.parcels import Piece


def in_hand(note: StageStatus, tasks: Iterable[tuple[Piece, str]]) -> Iterator[Piece]:
    """Which of a call's tasks the note is about: themselves, or what was made of them."""
    noted: set[str] = set()
    for task_id in note.task_ids:
        parts = task_id.split(".")
        noted.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    for piece, task_id in tasks:
        if task_id in noted:
            yield piece
