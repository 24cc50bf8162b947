"""Retrying: the tasks in a run's quarantine, from the stage that they failed in."""

from collections.abc import Iterator
from itertools import groupby

from curator_core.errors import ResumeError
from curator_core.executors import Executor
from curator_core.plans import Plan
from curator_core.results import QuarantineRecord, RunResult
from curator_core.runs.directory import RunDirectory
from curator_core.runs.keeping import DirectoryKeeper
from curator_core.runs.listing import Quarantined, Source
from curator_core.runs.outputs import outputs_of
from curator_core.runs.streams import RunStream


def retry(plan: Plan, run_dir: str, executor: Executor) -> RunResult:
    """Run the quarantined tasks again. What succeeds is published; what fails stays set aside."""
    if RunDirectory(run_dir).facts() is None:
        raise ResumeError(f"{run_dir} is not the directory of a run; give one with a run.json")
    name = type(executor).__name__
    keeper = DirectoryKeeper(plan, run_dir, outputs_of(plan), resume=True, executor=name)
    result = RunResult(run_dir=run_dir)
    try:
        records = keeper.quarantined()
        result.quarantined = records
        result.notes = list(_left_alone(records))
        for stage_index, group in groupby(_replayable(records), lambda r: r.stage_index):
            first = plan.stages[stage_index]
            listing = Quarantined(first, [_source(plan, keeper, record) for record in group])
            with RunStream(plan, executor, keeper, listing) as stream:
                tasks = [*result.tasks, *stream]
                notes, result = result.notes, stream.result
                result.tasks, result.notes = tasks, notes
    finally:
        keeper.close()
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
        source_id=f"{record.task_id}@{record.stage_index}",
        task=task,
        origins=keeper.origins_of(record.source_id),
        replaces=record,
    )
