"""A step: one stage at work within a call. Batches, ids, credit, retries and counts live here."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

from curator_core.blame import Blame
from curator_core.dropping import DropSink
from curator_core.errors import OutputError, StageError
from curator_core.failing import detail_of, reason_of
from curator_core.lineage import (
    Lineage,
    child_id,
    combined,
    equal_share,
    mixed_id,
    next_share,
    rest_share,
    source_of,
)
from curator_core.outcomes import AnyTask, Dropped, Mixed, Rejected
from curator_core.plans import PlannedStage
from curator_core.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.reports import CallReport
from curator_core.results import QuarantineRecord, payload_of
from curator_core.suggestions import hint
from curator_core.tasks import Task
from curator_core.vetting import aligned, check_item, checked
from curator_core.watching import TaskTimeoutError, Watch

R = TypeVar("R")


class CondemnedError(Exception):
    """A task that killed or hung its workers is not run again."""


class ExitedError(Exception):
    """A stage tried to end the process that it runs in."""


class WrongTaskError(Exception):
    """A stage was given a task of another type than it takes."""


class MissingColumnError(Exception):
    """A task lacks a column that the stage reads."""


class Step:
    """Runs one planned stage over the tasks of one call."""

    def __init__(
        self,
        planned: PlannedStage,
        report: CallReport,
        watch: Watch,
        blame: Blame,
        drops: DropSink | None,
    ) -> None:
        self.planned = planned
        self.stage = planned.stage
        self.report = report
        self.counts = report.of(planned.index)
        self.watch = watch
        self.blame = blame
        self.drops = drops
        self.required = tuple(planned.stage.inputs())
        self._elapsed = 0.0

    def outputs(self, tasks: Iterable[AnyTask]) -> Iterator[AnyTask]:
        """Everything that the stage makes of `tasks`, as it is made."""
        if not (self.stage.works_on_batches and self.planned.batch_size > 1):
            for task in tasks:
                yield from self._run_one(task)
                del task  # or it would stay while the next one is being made
            return
        for batch in _batches(tasks, self.planned.batch_size):
            yield from self._run_batch(batch)
            del batch

    # One task or a batch of them

    def _run_one(self, task: AnyTask) -> Iterator[AnyTask]:
        items = self._take(task)
        condemned = self.blame.condemned(self.planned.index, task)
        if condemned:
            self._fail(task, CondemnedError(condemned), ATTEMPTS_BEFORE_QUARANTINE)
            return
        try:
            result = self._try([task], lambda: self._call(task))
        except Exception as error:  # noqa: BLE001 - the border to a stage's code
            self._fail(task, error, self._retries_for(error) + 1)
            return
        yield from self._settle(task, items, result)

    def _call(self, task: AnyTask) -> Any:
        self._validate(task)
        if not self.stage.works_on_batches:
            return checked(self.stage.process(task), self.planned.name)
        given = self.stage.process_batch([task])
        if isinstance(given, Mixed):
            return checked(list(given), self.planned.name)
        return checked(aligned(given, 1, self.planned.name)[0], self.planned.name)

    def _run_batch(self, batch: list[AnyTask]) -> Iterator[AnyTask]:
        if len(batch) == 1 or self.blame.is_suspect(self.planned.index, batch):
            for task in batch:
                yield from self._run_one(task)
            return
        sizes = [task.num_items for task in batch]
        try:
            results = self._try(batch, lambda: self._call_batch(batch))
        except Exception:  # noqa: BLE001 - the border to a stage's code
            for task in batch:  # one by one, so that the bad task takes no neighbour along
                self.counts.tasks_retried += 1
                yield from self._run_one(task)
            return
        for task in batch:
            self._take(task)
        if isinstance(results, Mixed):
            yield from self._emit(batch, sum(sizes), list(results))
            return
        for task, items, result in zip(batch, sizes, results, strict=True):
            yield from self._settle(task, items, result)

    def _call_batch(self, batch: list[AnyTask]) -> Any:
        for task in batch:
            self._validate(task)
        given = self.stage.process_batch(batch)
        if isinstance(given, Mixed):
            return Mixed(checked(list(given), self.planned.name))
        return [
            checked(one, self.planned.name) for one in aligned(given, len(batch), self.planned.name)
        ]

    def _try(self, tasks: Sequence[AnyTask], call: Callable[[], R]) -> R:
        attempt = 1
        while True:
            try:
                return self._watched(tasks, call)
            except Exception as error:
                if attempt > self._retries_for(error):
                    raise
                self.counts.tasks_retried += len(tasks)
                self._wait(attempt)
                attempt += 1

    def _wait(self, attempt: int) -> None:
        time.sleep(self.planned.policy.backoff_s * 2 ** (attempt - 1))

    def _watched(self, tasks: Sequence[AnyTask], call: Callable[[], R]) -> R:
        self.watch.begin(self.planned.index, tasks, self.planned.policy.timeout_s)
        started = time.perf_counter()
        try:
            return call()
        except SystemExit as error:  # or a stage would end the whole run, as if all were well
            raise ExitedError(f"the stage called sys.exit({error.code!r})") from error
        finally:
            self._elapsed = time.perf_counter() - started
            self.counts.seconds += self._elapsed
            self.watch.end()

    def _retries_for(self, error: Exception) -> int:
        if isinstance(error, TaskTimeoutError):
            return ATTEMPTS_BEFORE_QUARANTINE - 1
        return self.planned.policy.retries_for(error)

    # What became of a task

    def _settle(self, task: AnyTask, items: int, result: Any) -> Iterator[AnyTask]:
        if isinstance(result, Task):
            yield from self._emit([task], items, [result])
        elif result is None or isinstance(result, list):
            yield from self._emit([task], items, result or [])
        else:
            yield from self._stream(task, items, result)

    def _emit(self, parents: list[AnyTask], items: int, results: list[Any]) -> Iterator[AnyTask]:
        """Pass on all of a result whose length is known."""
        accounted = self._accounted()
        outputs = self._without_notes(results, parents)
        accounted = self._accounted() - accounted
        if not outputs:
            self._drop(parents, items - accounted)
            return
        if len(parents) == len(outputs) == 1 and type(outputs[0]) is type(parents[0]):
            self._explain_shrinking(items - accounted - outputs[0].num_items)
        passed_on = [task for task in self._children(parents, outputs) if task is not None]
        self._count_end(len(parents), len(passed_on))
        yield from passed_on

    def _children(self, parents: list[AnyTask], outputs: list[AnyTask]) -> Iterator[AnyTask | None]:
        if len(parents) == len(outputs) == 1:
            [parent], [output] = parents, outputs
            child = output if output is parent else copy(output)  # one object may be given twice
            yield child if self._adopt(child, parent.task_id, parent.lineage, parent) else None
            return
        parent_id = mixed_id([parent.task_id for parent in parents])
        share = equal_share(combined(parent.lineage for parent in parents), len(outputs))
        for position, output in enumerate(outputs):
            child = copy(output)
            adopted = self._adopt(child, child_id(parent_id, position), share, parents[0])
            yield child if adopted else None

    def _stream(self, task: AnyTask, items: int, results: Iterator[Any]) -> Iterator[AnyTask]:
        """Pass on a generator's outputs one at a time, as they are made."""
        accounted = self._accounted()
        given, seen = self.blame.passed.get((self.planned.index, task.task_id), (0, 0))
        results = self._again(task, seen) if seen else results
        passed_on = 0
        attempt = 1
        while True:
            try:
                item = self._watched([task], lambda: next(results, _END))  # noqa: B023
                if item is _END:
                    break
                check_item(item, self.planned.name)
            except Exception as error:  # noqa: BLE001 - the border to a stage's code
                if attempt > self._retries_for(error):
                    self._fail(task, error, attempt, given, seen)
                    return
                self._wait(attempt)
                attempt += 1
                self.counts.tasks_retried += 1
                results = self._again(task, seen)
                continue
            seen += 1
            if not isinstance(item, Task):
                self._note(item, [task])
                continue
            output = copy(item)
            share = next_share(task.lineage, given)
            given += 1
            if self._adopt(output, child_id(task.task_id, given - 1), share, task):
                passed_on += 1
                del item
                yield output
            del output  # or it would stay while the next one is being made
        if given:
            self.report.spend(rest_share(task.lineage, given))
            self._count_end(1, passed_on)
        else:
            # A reader that finds nothing in a file has dropped nothing.
            missing = items - (self._accounted() - accounted)
            self._drop([task], missing if self.planned.gives is self.planned.takes else 0)

    def _again(self, task: AnyTask, seen: int) -> Iterator[Any]:
        """A second go at a generator that failed, from behind what it had already given."""

        def rest() -> Iterator[Any]:
            items = iter(self._call(task))
            for _ in range(seen):
                next(items)
            yield from items

        return rest()

    def _adopt(self, output: AnyTask, task_id: str, lineage: Lineage, parent: AnyTask) -> bool:
        """Give an output its id and credit. False where there is nothing in it to pass on."""
        output.task_id = task_id
        output.lineage = lineage
        if output is not parent:
            output.timings = dict(parent.timings)
            output.metadata = {**parent.metadata, **output.metadata}
            output.dataset_name = output.dataset_name or parent.dataset_name
        output.timings[self.planned.name] = self._elapsed
        if output.staged:
            self.report.staged += [(file, tuple(lineage)) for file in output.staged]
            output.staged = ()
        items = output.num_items
        if not items:
            self.report.spend(lineage)
            return False
        counts = self.counts
        counts.tasks_out += 1
        counts.items_out += items
        counts.bytes_out += output.num_bytes
        return True

    # Counting and noting

    def _count_end(self, tasks: int, passed_on: int) -> None:
        if passed_on:
            self.counts.tasks_passed += tasks
        else:
            self.counts.tasks_dropped += tasks

    def _accounted(self) -> int:
        return self.counts.items_dropped + self.counts.items_rejected

    def _take(self, task: AnyTask) -> int:
        items = task.num_items
        self.counts.tasks_in += 1
        self.counts.items_in += items
        self.counts.bytes_in += task.num_bytes
        return items

    def _validate(self, task: AnyTask) -> None:
        if not isinstance(task, self.planned.takes):
            raise WrongTaskError(
                f"it takes {self.planned.takes.__name__}, but was given {type(task).__name__}"
            )
        if self.required and (columns := task.columns()) is not None:
            for column in self.required:
                if column not in columns:
                    raise MissingColumnError(f"no column {column!r}{hint(column, columns)}")

    def _without_notes(self, results: list[Any], parents: list[AnyTask]) -> list[AnyTask]:
        outputs = []
        for item in results:
            if isinstance(item, Task):
                outputs.append(item)
            else:
                self._note(item, parents)
        return outputs

    def _note(self, item: Dropped | Rejected, parents: list[AnyTask]) -> None:
        if isinstance(item, Dropped):
            self.counts.drop(item.reason, item.items)
            if self.drops is not None and item.records is not None:
                records = item.records if isinstance(item.records, Task) else item.records()
                self.drops.add(self.planned.name, item.reason, records)
            return
        self.counts.items_rejected += item.items
        self._record(parents[0], item.reason, where=item.where, items=item.items,
                     whole_task=False, payload=item.payload)  # fmt: skip

    def _drop(self, parents: list[AnyTask], unreported: int) -> None:
        self.counts.tasks_dropped += len(parents)
        for task in parents:
            self.report.spend(task.lineage)
            if unreported > 0 and self.drops is not None:
                self.drops.add(self.planned.name, "dropped", task)
        if unreported > 0:
            self.counts.drop("dropped", unreported)

    def _explain_shrinking(self, missing: int) -> None:
        """Fewer items than before, with nothing said about it: not lost in silence."""
        if missing > 0:
            self.counts.drop("not passed on", missing)

    def _fail(
        self, task: AnyTask, error: Exception, attempts: int, passed: int = 0, seen: int = 0
    ) -> None:
        policy = self.planned.policy
        reason = reason_of(error)
        if policy.on_error == "fail" or isinstance(error, OutputError):
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
        self.report.lose(rest_share(task.lineage, passed))
        if policy.on_error == "quarantine":
            detail, payload = detail_of(error), payload_of(task)
            self._record(task, reason, detail=detail, attempts=attempts, passed=passed,
                         seen=seen, items=items, payload=payload)  # fmt: skip

    def _record(self, task: AnyTask, reason: str, **facts: Any) -> None:
        if not facts.get("whole_task", True) and self.planned.policy.on_error == "fail":
            raise StageError(
                f"stage {self.planned.name!r} failed: {facts['where']}: {reason}",
                stage=self.planned.name,
                task_id=task.task_id,
                source=source_of(task.lineage),
            )
        if self.planned.policy.on_error == "skip":
            return
        self.report.quarantined.append(
            QuarantineRecord(
                task.task_id,
                self.planned.name,
                self.planned.index,
                reason,
                source_of(task.lineage),
                **facts,
            )
        )


_END: Any = object()


def _batches(tasks: Iterable[AnyTask], size: int) -> Iterator[list[AnyTask]]:
    batch: list[AnyTask] = []
    for task in tasks:
        batch.append(task)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
