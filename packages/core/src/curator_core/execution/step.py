"""A step: run one stage on the tasks of a call, with batches, retries and output checks."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from curator_core.errors import TaskTimeoutError, hint
from curator_core.execution.accounting import Account
from curator_core.execution.exit_guard import StageCode
from curator_core.execution.telemetry import Stopwatch
from curator_core.execution.timeouts import Watch
from curator_core.model.crash_attribution import Blame
from curator_core.model.hardware import empty_device_cache, is_out_of_memory
from curator_core.model.ids import child_id, mixed_id
from curator_core.model.lineage import Lineage, add_credits, equal_share, next_share, rest_share
from curator_core.model.metrics import MetricsRecorder
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.tasks import AnyTask, Dropped, Mixed, Rejected, Task
from curator_core.plan.plan import PlannedStage


class BadOutputError(Exception):
    """A stage returned something that stages may not return."""


def check_item(item: Any, stage: str) -> None:
    if isinstance(item, Task):
        _check_payload(item, stage)
    elif not isinstance(item, Dropped | Rejected):
        raise BadOutputError(
            f"stage {stage!r} returned a {type(item).__name__}; "
            "it may return a task, a list or generator of tasks, or None"
        )


def _check_payload(task: Task[Any], stage: str) -> None:
    """Find a payload of the wrong type here, where the stage that made it is still known."""
    try:
        _ = task.num_items, task.num_bytes
    except Exception as error:
        raise BadOutputError(
            f"stage {stage!r} returned a {type(task).__name__} around a "
            f"{type(task.data).__name__}, which cannot be counted: {type(error).__name__}: {error}"
        ) from error


def check_result(result: Any, stage: str) -> Any:
    """Return a result as a task, list, iterator or None. Raise BadOutputError for anything else."""
    if isinstance(result, Task):  # first, because nearly all results are tasks
        _check_payload(result, stage)
        return result
    if result is None or isinstance(result, Iterator):
        return result
    if isinstance(result, Dropped | Rejected):
        return [result]
    if isinstance(result, list | tuple):
        for item in result:
            check_item(item, stage)
        return list(result)
    check_item(result, stage)
    return result


def check_batch_results(given: Any, expected: int, stage: str) -> list[Any]:
    """Return the results of a batch as a list. Raise unless there is one for each task."""
    results = list(given)
    if len(results) != expected:
        raise BadOutputError(
            f"process_batch of stage {stage!r} got {expected} tasks and returned "
            f"{len(results)} results; return one for each (None drops it), or Mixed([...]) "
            "where outputs are made of all tasks together"
        )
    return results


R = TypeVar("R")

Made = deque[AnyTask] | Iterator[AnyTask]
"""Outputs that are freed as they are passed on, because the next stage may be slow."""


class CondemnedError(Exception):
    """A task that repeatedly crashed or hung its workers is not run again."""


class WrongTaskError(Exception):
    """A stage received a task of the wrong type."""


class MissingColumnError(Exception):
    """A task does not have a column that the stage reads."""


class _GeneratorFailedError(Exception):
    """A generator failed and has no retries left."""

    def __init__(self, error: Exception, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


@dataclass
class _GeneratorProgress:
    """Position of a generator: tasks yielded, and all items including drops and rejections."""

    given: int
    seen: int


class Step:
    """Run one planned stage over the tasks of one call."""

    def __init__(
        self,
        planned: PlannedStage,
        account: Account,
        watch: Watch,
        blame: Blame,
        step_index: int,
        recorder: MetricsRecorder,
    ) -> None:
        """`step_index` is that of the stage, or of the first one if several are fused."""
        self.planned = planned
        self.step_index = step_index
        self.stage = planned.stage
        self.report = report = account.report
        self.account = account
        self.watch = watch
        self.blame = blame
        self.recorder = recorder
        self.required = tuple(planned.stage.inputs())
        self.stopwatch = Stopwatch(planned.index, report.usages.of(planned.index))
        self._elapsed = 0.0

    def outputs(self, tasks: Iterable[AnyTask]) -> Iterator[AnyTask]:
        """Yield the outputs of the stage for `tasks`, as they are made."""
        if not (self.stage.works_on_batches and self.planned.batch_size > 1):
            for task in tasks:
                made = self._run_one(task)
                del task  # do not hold the task while its outputs are processed
                yield from pop_each(made)
                self.stopwatch.finish_tasks()
            return
        for batch in _batches(tasks, self.planned.batch_size):
            yield from self._run_batch(batch)

    # Run one task or a batch of tasks

    def _run_one(self, task: AnyTask) -> Made:
        items = self.account.take(task)
        condemned = self.blame.quarantine_reason(self.planned.index, task, self.step_index)
        if condemned:
            attempts = self.blame.attempts_of(self.planned.index, task)
            self.account.fail(task, CondemnedError(condemned), attempts, self._progress(task))
            return deque()
        self.account.remember_input(task)
        try:
            result = self._try([task], lambda: self._call(task))
        except Exception as error:  # noqa: BLE001 - boundary to a stage's code
            self.account.fail(task, error, self._retries_for(error) + 1, self._progress(task))
            return deque()
        return self.handle_result(task, items, result)

    def _call(self, task: AnyTask) -> Any:
        self._validate(task)
        if not self.stage.works_on_batches:
            return check_result(self.stage.process(task), self.planned.name)
        given = self.stage.process_batch([task])
        if isinstance(given, Mixed):
            return check_result(list(given), self.planned.name)
        return check_result(check_batch_results(given, 1, self.planned.name)[0], self.planned.name)

    def _run_batch(self, batch: deque[AnyTask]) -> Iterator[AnyTask]:
        """Run the stage on a batch. Consumes `batch` so that tasks can be freed."""
        if len(batch) == 1 or self.blame.is_suspect(self.planned.index, batch):
            while batch:
                yield from pop_each(self._run_one(batch.popleft()))
                self.stopwatch.finish_tasks()
            return
        sizes = [(task.num_items, task.num_bytes) for task in batch]
        try:
            results = self._try(batch, lambda: self._call_batch(list(batch)))
        except Exception:  # noqa: BLE001 - boundary to a stage's code
            results = None
        if results is None:  # not in the handler: the traceback would keep the stage's memory alive
            while batch:  # one by one, so that a bad task does not fail the others
                self.account.retry([batch[0]])
                yield from pop_each(self._run_one(batch.popleft()))
                self.stopwatch.finish_tasks()
            return
        self.stopwatch.finish_tasks(len(batch))
        if isinstance(results, Mixed):
            items = sum([self.account.take(t, s) for t, s in zip(batch, sizes, strict=True)])
            made = self._handle_list(list(batch), items, list(results))
            batch.clear()
            del results
            yield from pop_each(made)
            return
        given = deque(zip(sizes, results, strict=True))
        del results
        while batch:
            task, (size, result) = batch.popleft(), given.popleft()
            made = self.handle_result(task, self.account.take(task, size), result)
            del task, result
            yield from pop_each(made)

    def _call_batch(self, batch: list[AnyTask]) -> Any:
        for task in batch:
            self._validate(task)
        given = self.stage.process_batch(batch)
        if isinstance(given, Mixed):
            return Mixed(check_result(list(given), self.planned.name))
        return [
            check_result(one, self.planned.name)
            for one in check_batch_results(given, len(batch), self.planned.name)
        ]

    def _try(self, tasks: Sequence[AnyTask], call: Callable[[], R]) -> R:
        attempt = 1
        while True:
            try:
                result = self.watched(tasks, call)
            except Exception as error:
                self.recorder.take()  # the next attempt logs it again
                is_out_of_room = is_out_of_memory(error)
                too_much = is_out_of_room and len(tasks) > 1  # would fail again
                if too_much or attempt > self._retries_for(error):
                    raise
            else:
                self.count_metrics(tasks)
                return result
            self.account.retry(tasks)
            self._wait(attempt, is_out_of_room)
            attempt += 1

    def _wait(self, attempt: int, is_out_of_room: bool) -> None:
        """Wait before a retry. Not inside the `except` block: its traceback keeps memory alive."""
        if is_out_of_room:
            empty_device_cache()
        time.sleep(self.planned.policy.backoff_s * 2 ** (attempt - 1))

    def watched(self, tasks: Sequence[AnyTask], call: Callable[[], R]) -> R:
        self.watch.begin(self.planned.index, tasks, self.planned.policy.timeout_s)
        self.stopwatch.start()
        try:
            with StageCode():
                return call()
        except TaskTimeoutError:
            self.stopwatch.usage.timeouts += len(tasks)
            raise
        finally:
            self._elapsed = self.stopwatch.stop()
            self.account.add_time(tasks, self._elapsed)
            self.watch.end()

    def count_metrics(self, tasks: Sequence[AnyTask]) -> None:
        """Count what the stage logged while it processed these tasks."""
        if self.recorder.logged:
            self.account.add_metrics(tasks, self.recorder.take())

    def _retries_for(self, error: Exception) -> int:
        if isinstance(error, TaskTimeoutError):
            return ATTEMPTS_BEFORE_QUARANTINE - 1
        return self.planned.policy.retries_for(error)

    # Process the result of a task

    def handle_result(self, task: AnyTask, items: int, result: Any) -> Made:
        if self._progress(task)[1]:
            return self._handle_generator(task, items, iter(()))
        if isinstance(result, Task):
            return self._emit_one(task, items, result)
        if result is None or isinstance(result, list):
            return self._handle_list([task], items, result or [])
        return self._handle_generator(task, items, result)

    def _handle_list(self, parents: list[AnyTask], items: int, results: list[Any]) -> Made:
        """Return the outputs of a result whose length is known."""
        lineage = parents[0].lineage
        if len(parents) > 1:
            lineage = add_credits(parent.lineage for parent in parents)
            self.account.attribute_to(lineage)
        accounted = self.account.explained_items()
        outputs = self._record_notes(results, parents)
        self.account.quarantine_rejected(parents)
        accounted = self.account.explained_items() - accounted
        if not outputs:
            self.account.drop(parents, items - accounted)
            return deque()
        if len(parents) == len(outputs) == 1:
            return self._emit_one(parents[0], items - accounted, outputs[0])
        passed_on = deque(t for t in self._children(parents, outputs, lineage) if t is not None)
        self.account.close(len(parents), len(passed_on))
        return passed_on

    def _emit_one(self, parent: AnyTask, items: int, output: AnyTask) -> deque[AnyTask]:
        """Return the output of a one-to-one stage. It keeps the id and the credit of its parent."""
        account = self.account
        if type(output) is type(parent):
            account.drop_missing(items - output.num_items)
        account.sample_change(parent, output)
        child = output if output is parent else output.twin()  # may be returned twice
        kept = account.adopt(child, parent.task_id, parent.lineage, parent, self._elapsed)
        account.close(1, int(kept))
        return deque((child,)) if kept else deque()

    def _children(
        self, parents: list[AnyTask], outputs: list[AnyTask], lineage: Lineage
    ) -> Iterator[AnyTask | None]:
        parent_id = mixed_id([parent.task_id for parent in parents])
        share = equal_share(lineage, len(outputs))
        for position, output in enumerate(outputs):
            child = output.twin()
            adopted = self.account.adopt(
                child, child_id(parent_id, position), share, parents[0], self._elapsed
            )
            yield child if adopted else None

    def _handle_generator(
        self, task: AnyTask, items: int, results: Iterator[Any]
    ) -> Iterator[AnyTask]:
        """Yield a generator's outputs one at a time, as they are made."""
        accounted = self.account.explained_items()
        flow = _GeneratorProgress(*self._progress(task))
        before, passed_on = flow.given, 0
        try:
            for item in self._items_with_retries(task, results, flow):
                if not isinstance(item, Task):
                    self.account.add_note(item, [task])
                    continue
                if (output := self._next_child(task, item, flow, before)) is not None:
                    passed_on += 1
                    yield output
                del item, output  # do not hold them while the next output is made
        except _GeneratorFailedError as broken:
            self.account.quarantine_rejected([task])
            progress = (flow.given, flow.seen)
            self.account.fail(task, broken.error, broken.attempts, progress, flow.given - before)
            return
        self.account.quarantine_rejected([task])
        if flow.given:
            self.report.spend(rest_share(task.lineage, flow.given - before))
            self.account.close(1, passed_on + before)
        else:
            # A reader that finds nothing in a file has dropped nothing.
            missing = items - (self.account.explained_items() - accounted)
            self.account.drop(
                [task], missing if self.planned.output_type is self.planned.input_type else 0
            )

    def _items_with_retries(
        self, task: AnyTask, results: Iterator[Any], flow: "_GeneratorProgress"
    ) -> Iterator[Any]:
        """Yield everything from a generator. A failed generator is retried from where it failed."""
        results = self._restart_generator(task, flow.seen) if flow.seen else results
        attempt = 1
        while True:
            try:
                item = self.watched([task], lambda: next(results, _END))  # noqa: B023
                if item is _END:
                    self.count_metrics([task])
                    return
                check_item(item, self.planned.name)
            except Exception as error:
                self.recorder.take()
                if attempt > self._retries_for(error):
                    raise _GeneratorFailedError(error, attempt) from error
                is_out_of_room = is_out_of_memory(error)
            else:
                self.count_metrics([task])
                flow.seen += 1
                yield item
                del item
                continue
            self._wait(attempt, is_out_of_room)
            attempt += 1
            self.account.retry([task])
            results = self._restart_generator(task, flow.seen)

    def _next_child(
        self, task: AnyTask, item: AnyTask, flow: "_GeneratorProgress", before: int
    ) -> AnyTask | None:
        output = item.twin()
        share = next_share(task.lineage, flow.given - before)
        task_id = child_id(task.task_id, flow.given)
        flow.given += 1
        adopted = self.account.adopt(output, task_id, share, task, self._elapsed)
        return output if adopted else None

    def _progress(self, task: AnyTask) -> tuple[int, int]:
        """Return how many tasks and how many items a generator yielded in an earlier attempt."""
        return self.blame.passed.get((self.planned.index, task.task_id), (0, 0))

    def _restart_generator(self, task: AnyTask, seen: int) -> Iterator[Any]:
        """Call a failed generator again and skip what it already yielded."""

        def rest() -> Iterator[Any]:
            items = iter(self._call(task))
            for _ in range(seen):
                next(items, None)
            self.recorder.take()  # was counted in the earlier attempt
            yield from items

        return rest()

    def _validate(self, task: AnyTask) -> None:
        if not isinstance(task, self.planned.input_type):
            raise WrongTaskError(
                f"it takes {self.planned.input_type.__name__}, but was given {type(task).__name__}"
            )
        if self.required and (columns := task.columns()) is not None:
            for column in self.required:
                if column not in columns:
                    raise MissingColumnError(f"no column {column!r}{hint(column, columns)}")

    def _record_notes(self, results: list[Any], parents: list[AnyTask]) -> list[AnyTask]:
        outputs = []
        for item in results:
            if isinstance(item, Task):
                outputs.append(item)
            else:
                self.account.add_note(item, parents)
        return outputs


_END: Any = object()


def pop_each(made: Made) -> Iterator[AnyTask]:
    if not isinstance(made, deque):
        yield from made
        return
    while made:
        yield made.popleft()


def _batches(tasks: Iterable[AnyTask], size: int) -> Iterator[deque[AnyTask]]:
    batch: deque[AnyTask] = deque()
    for task in tasks:
        batch.append(task)
        del task
        if len(batch) == size:
            yield batch
            batch = deque()
    if batch:
        yield batch
