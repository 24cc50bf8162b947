"""A worker in this process for previews, which keeps dropped records instead of writing them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from curator_core.execution.timeouts import AlarmTimer
from curator_core.execution.worker import StageWorker
from curator_core.model.resources import WorkerInfo
from curator_core.model.stages import DropSink, ProcessingStage
from curator_core.model.tasks import AnyTask, StagedFile, Task
from curator_core.plan.plan import Plan, PlannedStage


class DroppedRecords(DropSink):
    """Keeps all dropped records in memory, with the reasons."""

    def __init__(self) -> None:
        self.found: list[tuple[str, AnyTask]] = []

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        self.found.append((reason, records))

    def finish(self, call_id: str) -> list[StagedFile]:
        return []


class _DropRecorder(ProcessingStage[Task[Any], Task[Any]]):
    """Replaces the writer in the plan, to receive dropped records."""

    def __init__(self, drops: DroppedRecords) -> None:
        self._drops = drops

    def drop_sink(self, worker: WorkerInfo) -> DropSink:
        return self._drops


@contextmanager
def open_worker(stages: Sequence[PlannedStage]) -> Iterator[tuple[StageWorker, DroppedRecords]]:
    """Provide a worker for these stages in this process."""
    drops = DroppedRecords()
    bystander = replace(stages[0], stage=_DropRecorder(drops))
    plan = Plan("preview", (*stages, bystander))
    watch = AlarmTimer() if AlarmTimer.works_here() else None
    worker = StageWorker(plan, WorkerInfo("preview"), stages, watch)
    worker.setup_on_node()
    try:
        worker.setup()
        yield worker, drops
    finally:
        worker.teardown()
