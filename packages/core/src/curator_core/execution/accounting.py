"""Accounting: turn the results of a stage into counts, credit and quarantine records."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from curator_core.errors import (
    OutputError,
    StageError,
    detail_of,
    is_damaged_input,
    reason_of,
    remove_callers,
    user_code_location,
)
from curator_core.model.contents import contents_of
from curator_core.model.documents import DocumentBatch
from curator_core.model.ids import fingerprint
from curator_core.model.lineage import Lineage, SourceKey, rest_share, source_of
from curator_core.model.metrics import Metrics, merge_metrics
from curator_core.model.provenance import take_model
from curator_core.model.records import QuarantineRecord, StageCounts, kind_of, payload_of
from curator_core.model.reports import CallReport, Keys, Part
from curator_core.model.samples import Sampler
from curator_core.model.scores import take_scores
from curator_core.model.stages import DropSink
from curator_core.model.tasks import AnyTask, Dropped, Rejected, Task
from curator_core.plan.plan import PlannedStage


class Account:
    """Counts, drops and quarantine records of one stage in one call."""

    def __init__(
        self,
        planned: PlannedStage,
        report: CallReport,
        drops: DropSink | None,
        sampler: Sampler | None = None,
    ) -> None:
        self.planned = planned
        self.report = report
        self.counts = StageCounts()
        self._part = Part()
        self._keys: Keys | None = None
        self._attributed_to: Iterable[SourceKey] = ()
        self._drops = drops
        self._sampler = sampler
        self._is_sampling = (
            sampler is not None
            and issubclass(planned.output_type, DocumentBatch)
            and sampler.wants_changes(planned.index)
        )
        takes_files, returns_files = planned.takes_files, planned.returns_files
        self._takes_files, self._returns_files = takes_files, returns_files
        self._takes_nothing = planned.takes_nothing
        takes_records = not (takes_files or planned.takes_nothing)
        self._measures_inputs = sampler is not None and takes_records and returns_files
        self._measures_outputs = sampler is not None and not takes_records and not returns_files
        self._input_data: Any = None
        self._rejected: list[Rejected] = []

    def attribute_to(self, sources: Iterable[SourceKey]) -> StageCounts:
        """Attribute everything counted from now on to tasks made from these sources."""
        if sources is self._attributed_to:  # lineages are never changed in place
            return self.counts
        self._attributed_to = sources
        keys = tuple(sources)
        if keys != self._keys:
            self._keys = keys
            self._part = self.report.part(keys)
            self.counts = self._part.of(self.planned.index)
        return self.counts

    def take(self, task: AnyTask, size: tuple[int, int] | None = None) -> int:
        """Count a task as input of the stage.

        `size` is its items and bytes, measured before the stage ran, if the stage has run already.
        """
        items, num_bytes = size or (task.num_items, task.num_bytes)
        counts = self.attribute_to(task.lineage)
        counts.tasks_in += 1
        if self._takes_nothing:
            return items
        counts.items_in += items
        counts.bytes_in += num_bytes
        if self._takes_files:
            counts.files_in += items
        if self._measures_inputs:
            self._measure_input(task)
        return items

    def _measure_input(self, task: AnyTask) -> None:
        """Measure and sample what a writer gets: the records that the run has kept."""
        if contents := contents_of(task):
            self.counts.contents = contents + self.counts.contents
        if self._sampler is not None:
            self.report.samples += self._sampler.kept(self.planned.index, task)

    def add_time(self, tasks: Sequence[AnyTask], seconds: float) -> None:
        """Share the time of a batch evenly among its tasks."""
        for task in tasks:
            self.attribute_to(task.lineage).seconds += seconds / len(tasks)

    def add_metrics(self, tasks: Sequence[AnyTask], metrics: Metrics) -> None:
        """Count what the stage logged with the sources of the first task: it cannot be shared."""
        counts = self.attribute_to(tasks[0].lineage)
        counts.metrics = merge_metrics(counts.metrics, metrics)

    def retry(self, tasks: Sequence[AnyTask]) -> None:
        for task in tasks:
            self.attribute_to(task.lineage).tasks_retried += 1

    def explained_items(self) -> int:
        return self.counts.items_dropped + self.counts.items_rejected

    def adopt(
        self,
        output: AnyTask,
        task_id: str,
        lineage: Lineage,
        parent: AnyTask,
        seconds: float,
    ) -> bool:
        """Give an output its id and credit. Return False if it is empty."""
        output.task_id = task_id
        output.lineage = lineage
        if output is not parent:
            output.timings = dict(parent.timings)
            output.metadata = {**parent.metadata, **output.metadata}
            output.dataset_name = output.dataset_name or parent.dataset_name
        output.timings[self.planned.name] = seconds
        if output.staged:
            self.report.staged += [(file, tuple(lineage)) for file in output.staged]
            output.staged = ()
        counts = self.counts
        if output.derived:
            counts.add_scores(take_scores(output))
            if (model := take_model(output)) and output.num_items:
                counts.add_model(model, output.num_items)
        items = output.num_items
        if not items:
            self.report.spend(lineage)
            return False
        self._count_output(output, items)
        return True

    def _count_output(self, output: AnyTask, items: int) -> None:
        counts = self.counts
        counts.tasks_out += 1
        counts.items_out += items
        counts.bytes_out += output.num_bytes
        if self._returns_files:
            counts.files_out += items
        if self._measures_outputs and (contents := contents_of(output)):
            counts.contents = contents + counts.contents
        if playing_ms := output.playing_ms:
            counts.playing_ms += playing_ms

    def close(self, tasks: int, passed_on: int) -> None:
        if passed_on:
            self.counts.tasks_passed += tasks
        else:
            self.counts.tasks_dropped += tasks

    def drop(self, parents: list[AnyTask], unreported: int) -> None:
        self.counts.tasks_dropped += len(parents)
        for task in parents:
            self.report.spend(task.lineage)
            if unreported > 0:
                self._sample_dropped("dropped", task)
                self._store_dropped("dropped", task)
        if unreported > 0:
            self.counts.drop("dropped", unreported)

    def add_note(self, item: Dropped | Rejected, parents: list[AnyTask]) -> None:
        if isinstance(item, Dropped):
            self.counts.drop(item.reason, item.items)
            if item.records is not None:
                self._sample_dropped(item.reason, item.records)
                self._store_dropped(item.reason, item.records)
            return
        self.counts.items_rejected += item.items
        if self.planned.policy.on_error == "fail":
            at = f"{item.where}: " if item.where else ""
            raise StageError(
                f"stage {self.planned.name!r} failed: {at}{item.reason}",
                stage=self.planned.name,
                task_id=parents[0].task_id,
                source=source_of(parents[0].lineage),
            )
        if self.planned.policy.on_error == "quarantine":
            self._rejected.append(item)

    def quarantine_rejected(self, parents: Sequence[AnyTask]) -> None:
        """Quarantine the rejected records of a task, with a new task that holds only these records.

        With several parents, a record can be retried only if it names its task (`of`).
        """
        if not self._rejected:
            return
        rejected, self._rejected = self._rejected, []
        groups: dict[int, list[Rejected]] = {}
        for item in rejected:
            groups.setdefault(id(item.of), []).append(item)
        for items in groups.values():
            of = items[0].of or (parents[0] if len(parents) == 1 else None)
            rows = sorted({item.row for item in items if item.row is not None})
            known = [f"{item.row} {item.where}" for item in items if item.row is not None]
            subtask_id, subtask, kind = self._subtask(parents[0].task_id, of, rows, known)
            for item in items:
                has_row = item.row is not None
                self._record(
                    parents[0],
                    item.reason,
                    where=item.where,
                    items=item.items,
                    whole_task=False,
                    payload=item.payload,
                    subtask_id=subtask_id if has_row else "",
                    subtask=subtask if has_row else None,
                    kind=kind if has_row else "",
                    damaged=item.damaged or not has_row,
                )
                subtask = None if has_row else subtask

    def _subtask(
        self, task_id: str, of: AnyTask | None, rows: Sequence[int], known: Sequence[str]
    ) -> tuple[str, bytes | None, str]:
        """Return id, bytes and class of a task with these rows; an empty id if not storable."""
        if not rows or not isinstance(of, self.planned.input_type):
            return "", None, ""
        try:
            taken = of.take(rows)
            subtask = taken.to_payload()
        except (TypeError, ValueError, IndexError):
            return "", None, ""
        subtask_id = f"{task_id}.{self.planned.index}r{fingerprint(*known)[:8]}"
        return subtask_id, subtask, kind_of(taken.stored_type)

    def drop_missing(self, missing: int) -> None:
        """Count items that disappeared without a reported reason as dropped."""
        if missing > 0:
            self.counts.drop("not passed on", missing)

    def remember_input(self, task: AnyTask) -> None:
        """Remember the data of a task, because the stage may change it in place."""
        if self._is_sampling:
            self._input_data = vars(task).get("data")

    def sample_change(self, parent: AnyTask, output: AnyTask) -> None:
        """Sample a few records before and after a stage turned one task into another."""
        if self._is_sampling and self._sampler is not None:
            given, self._input_data = self._input_data, None
            before = vars(parent).get("data") if given is None else given
            self.report.samples += self._sampler.changes(self.planned.index, before, output)

    def _sample_dropped(self, reason: str, records: AnyTask | Callable[[], AnyTask]) -> None:
        """Count the scores of dropped records, and sample a few of the records."""
        if isinstance(records, Task) and records.derived:
            self.counts.add_scores(take_scores(records))
        if self._sampler is not None:
            index, inputs = self.planned.index, self.planned.stage.inputs()
            self.report.samples += self._sampler.drops(index, reason, records, inputs)

    def _store_dropped(self, reason: str, records: AnyTask | Callable[[], AnyTask]) -> None:
        """Pass dropped records to the drop sink. Raise if it fails: none may be lost unnoticed."""
        if self._drops is None:
            return
        try:
            dropped = records if isinstance(records, Task) else records()
            self._drops.add(self.planned.name, reason, dropped)
        except Exception as error:
            raise StageError(
                f"stage {self.planned.name!r}: cannot store dropped records: {reason_of(error)}",
                stage=self.planned.name,
                detail=detail_of(error),
            ) from error

    def fail(
        self,
        task: AnyTask,
        error: Exception,
        attempts: int,
        progress: tuple[int, int] = (0, 0),
        shared: int = 0,
    ) -> None:
        """Count a task as failed and quarantine it, or raise, as the policy says.

        `progress` holds how many outputs were passed on and how many items were yielded, in all
        attempts. `shared` is how many outputs of this attempt already took a share of the credit.
        """
        policy = self.planned.policy
        reason = reason_of(error) + user_code_location(error)
        if policy.on_error == "fail" or isinstance(error, OutputError):
            remove_callers(error)
            raise StageError(
                f"stage {self.planned.name!r} failed: {reason}",
                stage=self.planned.name,
                task_id=task.task_id,
                source=source_of(task.lineage),
                detail=detail_of(error),
            ) from error
        items = task.num_items
        self.counts.tasks_failed += 1
        self.counts.items_failed += items
        self.report.lose(rest_share(task.lineage, shared))
        if policy.on_error == "quarantine":
            (passed, seen), payload = progress, payload_of(task)
            self._record(task, reason, detail=detail_of(error), attempts=attempts, passed=passed,
                         seen=seen, items=items, payload=payload, kind=kind_of(task.stored_type),
                         damaged=is_damaged_input(error))  # fmt: skip

    def _record(self, task: AnyTask, reason: str, **facts: Any) -> None:
        self._part.quarantined.append(
            QuarantineRecord(
                task.task_id,
                self.planned.name,
                self.planned.index,
                reason,
                source_of(task.lineage),
                **facts,
            )
        )
