"""Retry: run quarantined tasks and records again, from the stage where they failed.

A failed task is run again as it was. Records that a stage rejected are run again as a separate
task, all records of one task together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from curator_core.errors import ResumeError
from curator_core.io.filesystems import StorageOptions
from curator_core.model.policies import FailureBudget
from curator_core.model.records import QuarantineRecord, kind_of
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor
from curator_core.plan.fusion import unfuse
from curator_core.plan.plan import Plan, PlannedStage, outputs_of
from curator_core.run.commits import retry_id
from curator_core.run.directory import RunDirectory, check_same_stages, differences
from curator_core.run.observers import Observation
from curator_core.run.result import RunResult
from curator_core.run.run import ActiveRun
from curator_core.run.session import RunStream
from curator_core.run.sources import QuarantineListing, Source
from curator_core.run.store import DirectoryStore, options_for

NO_BUDGET = FailureBudget(None)
"""Everything retried had failed before, so a retry has no failure budget."""


@dataclass(frozen=True)
class Replay:
    """A task to retry: the record that holds its payload, and the record it replaces."""

    holder: QuarantineRecord
    replaces: QuarantineRecord

    @property
    def payload(self) -> bytes:
        """The payload, read from the quarantine on access because it may be large."""
        held = self.holder.payload if self.holder.whole_task else self.holder.subtask
        return held or b""


def retry(
    plan: Plan,
    run_dir: str,
    executor: Executor,
    storage_options: StorageOptions | None = None,
    *,
    accept_changes: bool = False,
    observation: Observation | None = None,
) -> RunResult:
    """Retry quarantined work. Successes are published; failures stay in quarantine."""
    options = dict(storage_options or options_for(run_dir, outputs_of(plan)))
    facts = RunDirectory(run_dir, options).facts()
    if facts is None:
        raise ResumeError(f"{run_dir} is not the directory of a run; give one with a run.json")
    check_same_stages(facts, plan, run_dir)
    changes = _changes(facts, plan)
    if changes and not accept_changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ResumeError(
            f"the pipeline {plan.name!r} has changed since the run in {run_dir}:\n{listed}\n"
            "What is retried would be processed differently from the rest. Undo the change, or set "
            "accept_changes=True (--accept-changes) if the change fixes the failures"
        )
    plan = replace(unfuse(plan), budget=NO_BUDGET)  # a retry may start at any stage
    name = type(executor).__name__
    store = DirectoryStore(
        plan, run_dir, executor=name, allow_changed_stages=True, storage_options=options
    )
    result = RunResult(run_dir=run_dir)
    try:
        records = store.quarantined()
        for first, group in _by_stage(plan, replays_of(records)):
            listing = QuarantineListing(first, (_source(plan, store, replay) for replay in group))
            with RunStream(ActiveRun(plan, listing, store), executor, "retry") as stream:
                if observation is not None:
                    observation.watch(stream.run, name, storage_options)
                result = _add_results(result, stream)
        store.sweep_quarantine()
        result.quarantined = store.quarantined()
        result.notes += _change_notes(changes)
        result.notes += _unretryable_notes(records)
    finally:
        store.close()
    return result


def replays_of(records: Iterable[QuarantineRecord]) -> list[Replay]:
    """Return what can be retried, ordered by stage."""
    tasks: list[Replay] = []
    together: dict[tuple[str, str], list[QuarantineRecord]] = {}
    for record in records:
        if not record.can_be_retried:
            continue
        if record.whole_task:
            tasks.append(Replay(record, _without_payload(record, record.items)))
        else:
            together.setdefault((record.source_id, record.subtask_id), []).append(record)
    for found in together.values():  # the first record holds the payload
        tasks.append(
            Replay(found[0], _without_payload(found[0], sum(record.items for record in found)))
        )
    return sorted(tasks, key=lambda one: (one.replaces.stage_index, retry_id(one.replaces)))


def _without_payload(record: QuarantineRecord, items: int) -> QuarantineRecord:
    """Copy a record without payloads, to keep in memory during the retry."""
    return QuarantineRecord(
        record.task_id,
        record.stage,
        record.stage_index,
        record.reason,
        record.source_id,
        items=items,
        whole_task=record.whole_task,
        passed=record.passed,
        seen=record.seen,
        subtask_id=record.subtask_id,
    )


def _changes(facts: dict[str, Any], plan: Plan) -> list[str]:
    if facts.get("fingerprint") == plan.fingerprint:
        return []
    return differences(facts.get("plan", []), plan.describe())


def _change_notes(changes: list[str]) -> Iterator[str]:
    if changes:
        listed = "; ".join(changes)
        yield f"only what was retried used the changed pipeline ({listed})"


def _by_stage(plan: Plan, replays: list[Replay]) -> Iterator[tuple[PlannedStage, Iterable[Replay]]]:
    """Yield replays grouped by first stage; one empty group if there are none."""
    if not replays:
        yield plan.stages[-1], ()
    for stage_index, group in groupby(replays, lambda replay: replay.replaces.stage_index):
        yield plan.stages[stage_index], group


def _add_results(before: RunResult, stream: RunStream) -> RunResult:
    tasks = [*before.tasks, *stream]
    result = stream.result
    result.tasks = tasks
    result.sources_done += before.sources_done
    result.seconds += before.seconds
    return result


def _unretryable_notes(records: list[QuarantineRecord]) -> Iterator[str]:
    left = [record for record in records if not record.can_be_retried]
    damaged = sum(record.items for record in left if record.damaged)
    if damaged:
        yield (
            f"damaged records that cannot be retried: {damaged}; repair their files and run the "
            "pipeline again: it detects changed files"
        )
    unstored = sum(not record.damaged for record in left)
    if unstored:
        yield f"failures that could not be stored, and so cannot be retried: {unstored}"


def _source(plan: Plan, store: DirectoryStore, replay: Replay) -> Source:
    record = replay.replaces
    task = _task_class(plan, replay.holder).from_payload(replay.payload)
    task.task_id = record.subtask_id or record.task_id
    return Source(
        source_id=retry_id(record),
        task=task,
        origins=store.history.origins_of(record.source_id),
        replaces=record,
    )


def _task_class(plan: Plan, record: QuarantineRecord) -> type[AnyTask]:
    """Return the class of a stored task, from the stages' types.

    Stored data must not be able to trigger imports.
    """
    kinds = (kind for planned in plan.stages for kind in (planned.input_type, planned.output_type))
    known = {kind_of(kind): kind for kind in kinds}
    return known.get(record.kind, plan.stages[record.stage_index].input_type)
