"""Retrying: the tasks in a run's quarantine, from the stage that they failed in."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from curator_core.errors import ResumeError
from curator_core.executors import Executor
from curator_core.filesystems import StorageOptions
from curator_core.plans import Plan, PlannedStage
from curator_core.results import QuarantineRecord, RunResult
from curator_core.runs.directory import RunDirectory, differences
from curator_core.runs.keeping import DirectoryKeeper, options_for
from curator_core.runs.listing import Quarantined, Source
from curator_core.runs.memory import retry_id
from curator_core.runs.outputs import outputs_of
from curator_core.runs.streams import RunStream


def retry(
    plan: Plan, run_dir: str, executor: Executor, storage_options: StorageOptions | None = None
) -> RunResult:
    """Run the quarantined tasks again. What succeeds is published; what fails stays set aside."""
    options = dict(storage_options or options_for(run_dir, outputs_of(plan)))
    facts = RunDirectory(run_dir, options).facts()
    if facts is None:
        raise ResumeError(f"{run_dir} is not the directory of a run; give one with a run.json")
    name = type(executor).__name__
    keeper = DirectoryKeeper(plan, run_dir, executor=name, mended=True, storage_options=options)
    result = RunResult(run_dir=run_dir, notes=_changes(facts, plan))
    try:
        records = keeper.quarantined()
        for first, group in _by_stage(plan, _replayable(records)):
            listing = Quarantined(first, (_source(plan, keeper, record) for record in group))
            with RunStream(plan, executor, keeper, listing) as stream:
                result = _together(result, stream)
        result.quarantined = keeper.quarantined()
        result.notes += _left_alone(records)
    finally:
        keeper.close()
    return result


def _changes(facts: dict[str, Any], plan: Plan) -> list[str]:
    if facts.get("fingerprint") == plan.fingerprint:
        return []
    changes = "; ".join(differences(facts["plan"], plan.describe()))
    return [f"only what is retried was made by the pipeline as it is now ({changes})"]


def _by_stage(
    plan: Plan, records: list[QuarantineRecord]
) -> Iterator[tuple[PlannedStage, Iterable[QuarantineRecord]]]:
    """The records that begin at the same stage; one empty group where there are none at all."""
    if not records:
        yield plan.stages[-1], ()
    for stage_index, group in groupby(records, lambda record: record.stage_index):
        yield plan.stages[stage_index], group


def _together(before: RunResult, stream: RunStream) -> RunResult:
    tasks = [*before.tasks, *stream]
    result = stream.result
    result.tasks = tasks
    result.sources_done += before.sources_done
    result.notes = [*before.notes, *result.notes]
    for reason, count in before.worker_restarts.items():
        result.worker_restarts[reason] = result.worker_restarts.get(reason, 0) + count
    return result


def _replayable(records: list[QuarantineRecord]) -> list[QuarantineRecord]:
    able = [record for record in records if record.whole_task and record.payload is not None]
    return sorted(able, key=lambda record: (record.stage_index, record.task_id))


def _left_alone(records: list[QuarantineRecord]) -> Iterator[str]:
    damaged = sum(record.items for record in records if not record.whole_task)
    if damaged:
        yield (
            f"{damaged} damaged records are no tasks, so they cannot be retried: mend their files "
            "and run the pipeline again, it notices changed files"
        )
    unstored = sum(1 for record in records if record.whole_task and record.payload is None)
    if unstored:
        yield f"{unstored} tasks could not be stored, so they cannot be retried"


def _source(plan: Plan, keeper: DirectoryKeeper, record: QuarantineRecord) -> Source:
    kind = plan.stages[record.stage_index].takes
    task = kind.from_payload(record.payload or b"")
    task.task_id = record.task_id
    return Source(
        source_id=retry_id(record),
        task=task,
        origins=keeper.origins_of(record.source_id),
        replaces=record,
    )
