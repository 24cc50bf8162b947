"""Preview: what each stage does to a sample of records. Nothing is written."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import islice, zip_longest
from math import ceil
from typing import Any

from curator_core.execution.timeouts import AlarmTimer
from curator_core.execution.worker import StageWorker
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.ids import fingerprint
from curator_core.model.lineage import whole_credit
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.stages import DropSink, ProcessingStage
from curator_core.model.tasks import AnyTask, Empty, StagedFile, Task
from curator_core.plan.plan import Plan, PlannedStage

Record = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A column of one record before and after a stage. A new column has no `before`."""

    column: str
    before: Any
    after: Any
    is_new: bool = False


@dataclass(frozen=True)
class DropExample:
    """A reason for dropping records, how often it applied, and an example if there is one."""

    reason: str
    items: int
    record: Record | None = None


@dataclass(frozen=True)
class StagePreview:
    """What one stage did to the sample. Stages that `drew` it may have read more than it holds."""

    name: str
    counts: StageCounts
    drew: bool = False
    reads: tuple[str, ...] = ()
    changed: int = 0
    changes: list[Change] = field(default_factory=list)
    drops: list[DropExample] = field(default_factory=list)
    quarantined: list[QuarantineRecord] = field(default_factory=list)


@dataclass(frozen=True)
class Preview:
    """A sample, the stages that it passed through, and what is left of it.

    `kept` is the number of records that a run would pass to its writers; `rest` holds their rows,
    if they have any.
    """

    sources: list[str]
    records: int
    stages: list[StagePreview]
    left_out: list[str]
    kept: int
    rest: list[Record]


def preview(plan: Plan, records: int = 20) -> Preview:
    """Sample records across the sources, and run the stages on them one after another."""
    planned = [_quarantine_failures(stage) for stage in plan.stages if not stage.stage.writes]
    left_out = [stage.name for stage in plan.stages if stage.stage.writes]
    head = 1 + next((i for i, stage in enumerate(planned) if stage.output_type is not FileGroup), 0)
    sample = _Sample(records)
    report = CallReport()
    sample.fill(planned[:head], report)
    stages = [_reader_preview(stage, report.of(stage.index), report) for stage in planned[:head]]
    tasks = sample.tasks
    for stage in planned[head:]:
        seen, tasks = _run_stage(stage, tasks)
        stages.append(seen)
    kept = sum(task.num_items for task in tasks)
    return Preview(sample.sources, sample.items, stages, left_out, kept, _rows(tasks))


def _quarantine_failures(planned: PlannedStage) -> PlannedStage:
    """Quarantine failures: a preview shows them and continues with other records."""
    return replace(planned, policy=replace(planned.policy, on_error="quarantine"))


MOST_LISTED = 10_000
"""Number of sources to sample from: listing more would take longer than reading the sample."""


def _choose_sources(sources: Iterable[AnyTask], most: int) -> list[AnyTask]:
    """Choose sources by hash, so that every preview chooses the same, and sort them by size.

    A small source with too few records leaves its share to the later ones.
    """
    listed = islice(sources, MOST_LISTED)
    chosen = nsmallest(most, listed, key=lambda task: fingerprint(task.identity() or task.task_id))
    return sorted(chosen, key=lambda task: task.num_bytes)


class _Sample:
    """Records from sources across the input; reads no more than needed."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self.items = 0
        self.tasks: list[AnyTask] = []
        self.sources: list[str] = []

    def fill(self, stages: Sequence[PlannedStage], report: CallReport) -> None:
        lister, readers = stages[0], stages[1:]
        seed = Empty()
        seed.lineage = whole_credit("", 0)
        failing = replace(lister, policy=replace(lister.policy, on_error="fail"))
        with _worker_for([failing]) as (worker, _):
            listing = worker.call([seed])
            with closing(listing.outputs()) as sources:
                if readers:
                    self._read(_choose_sources(sources, self._wanted), readers, report)
                else:
                    self._take(sources, self._wanted)
        report.add(listing.report)

    def _read(
        self, sources: list[AnyTask], readers: Sequence[PlannedStage], report: CallReport
    ) -> None:
        with _worker_for(readers) as (worker, _):
            for position, source in enumerate(sources):
                missing, left = self._wanted - self.items, len(sources) - position
                if missing <= 0:
                    return
                source.task_id = fingerprint(source.identity() or source.task_id)
                source.lineage = whole_credit(source.task_id, 1)
                self.sources += [origin.name for origin in source.origins()]
                call = worker.call([source])
                with closing(call.outputs()) as outputs:
                    self._take(outputs, ceil(missing / left))
                report.add(call.report)

    def _take(self, outputs: Iterator[AnyTask], room: int) -> None:
        for output in outputs:
            items = output.num_items
            if isinstance(output, DocumentBatch) and items > room:
                output.data = output.data.take([at * items // room for at in range(room)])
            self.tasks.append(output)
            self.items += output.num_items
            room -= output.num_items
            if room <= 0:
                return


def _run_stage(planned: PlannedStage, tasks: list[AnyTask]) -> tuple[StagePreview, list[AnyTask]]:
    before = _rows(tasks)
    if not tasks:
        return StagePreview(planned.name, StageCounts()), []
    with _worker_for([planned]) as (worker, drops):
        call = worker.call(tasks)
        outputs = list(call.outputs())
    counts = call.report.of(planned.index)
    changed, changes = _changes(before, _rows(outputs))
    examples = [
        DropExample(reason, items, drops.examples.get(reason))
        for reason, items in sorted(counts.reasons.items(), key=lambda found: -found[1])
    ]
    seen = StagePreview(
        planned.name,
        counts,
        reads=tuple(planned.stage.inputs()),
        changed=changed,
        changes=changes,
        drops=examples,
        quarantined=call.report.quarantined,
    )
    return seen, outputs


def _reader_preview(planned: PlannedStage, counts: StageCounts, report: CallReport) -> StagePreview:
    failures = [r for r in report.quarantined if r.stage_index == planned.index]
    drops = [DropExample(reason, items) for reason, items in counts.reasons.items()]
    return StagePreview(planned.name, counts, drew=True, drops=drops, quarantined=failures)


class _Examples(DropSink):
    """Keeps the first dropped record of each reason."""

    def __init__(self) -> None:
        self.examples: dict[str, Record] = {}

    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        rows = _rows([records])
        if rows:
            self.examples.setdefault(reason, rows[0])

    def finish(self, call_id: str) -> list[StagedFile]:
        return []


class _DropRecorder(ProcessingStage[Task[Any], Task[Any]]):
    """Replaces the writer in the plan, to receive dropped records."""

    def __init__(self, drops: _Examples) -> None:
        self._drops = drops

    def drop_sink(self, worker: WorkerInfo) -> DropSink:
        return self._drops


@contextmanager
def _worker_for(stages: Sequence[PlannedStage]) -> Iterator[tuple[StageWorker, _Examples]]:
    """Provide a worker for these stages in this process."""
    drops = _Examples()
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


def _rows(tasks: Sequence[AnyTask]) -> list[Record]:
    return [row for task in tasks if isinstance(task, DocumentBatch) for row in task.to_pylist()]


def _changes(before: list[Record], after: list[Record]) -> tuple[int, list[Change]]:
    """Return the number of changed records and an example per column.

    If rows were dropped or added, return no changes: records cannot be matched.
    """
    if len(before) != len(after):
        return 0, []
    changed = 0
    examples: dict[str, Change] = {}
    for old, new in zip(before, after, strict=True):
        found = [
            Change(column, old.get(column), new[column], is_new=column not in old)
            for column in new
            if column not in old or old[column] != new[column]
        ]
        changed += bool(found)
        for change in found:
            examples.setdefault(change.column, change)
    return changed, list(examples.values())


def around_difference(before: str, after: str, width: int) -> tuple[str, str]:
    """Cut two texts to where they first differ, with a little context before it."""
    pairs = enumerate(zip_longest(before, after))
    first = next((at for at, (old, new) in pairs if old != new), 0)
    start = max(0, first - width // 4)
    lead = "…" if start else ""

    def part(text: str) -> str:
        cut = text[start : start + width]
        return lead + cut + ("…" if len(text) > start + width else "")

    return part(before), part(after)
