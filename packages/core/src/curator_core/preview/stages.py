"""Run the stages of a plan on a sample, one after another."""

from collections.abc import Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import TypeAlias

from curator_core.model.files import FileGroup
from curator_core.model.records import StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan, PlannedStage, stage_options
from curator_core.preview.records import (
    Change,
    DropExample,
    Record,
    RecordPreview,
    StagePreview,
    broken_limits,
    changes_in,
    plain,
)
from curator_core.preview.result import Preview
from curator_core.preview.sample import Sample, draw_sample
from curator_core.preview.worker import open_worker

ByRecord: TypeAlias = dict[str, list[Record]]
"""What was made of each record of the sample, by its number."""

_SCORE = "preview_score"
"""Column for the score of a filter that stores none, so that drops show a value."""


def preview(plan: Plan, records: int = 20, *, pictures: bool = False) -> Preview:
    """Sample records across the sources, and run the stages on them one after another.

    With `pictures`, the preview has thumbnails of pictures and clips.
    """
    planned = [_quarantine_failures(stage) for stage in plan.stages if not stage.stage.writes]
    head = reading_stages(planned)
    sample = draw_sample(planned[:head], records)
    read = seen = _by_record(sample.tasks)
    stages = [_reader_preview(stage, sample.report) for stage in planned[:head]]
    tasks = sample.tasks
    for stage in planned[head:]:
        shown, tasks, seen = _run_stage(stage, tasks, seen, pictures=pictures)
        stages.append(shown)
    return Preview(
        plan.name,
        sample.sources,
        sample.items,
        stages,
        [stage.name for stage in plan.stages if stage.stage.writes],
        sum(task.num_items for task in tasks),
        [fact for task in tasks for fact in _facts(task)],
        [] if _is_mixed(tasks) else _examples(sample, read, seen, pictures=pictures),
    )


def reading_stages(planned: Sequence[PlannedStage]) -> int:
    """Return how many stages at the beginning list and read the sources."""
    return 1 + next((i for i, stage in enumerate(planned) if stage.output_type is not FileGroup), 0)


def _quarantine_failures(planned: PlannedStage) -> PlannedStage:
    """Quarantine failures: a preview shows them and continues with other records."""
    return replace(planned, policy=replace(planned.policy, on_error="quarantine"))


def _facts(task: AnyTask) -> list[Record]:
    found: list[Record] = plain(task.describe_items())
    return found


def _reader_preview(planned: PlannedStage, report: CallReport) -> StagePreview:
    counts = report.of(planned.index)
    failures = [r for r in report.quarantined if r.stage_index == planned.index]
    drops = [DropExample(reason, items) for reason, items in counts.reasons.items()]
    return StagePreview(planned.name, counts, drew=True, drops=drops, quarantined=failures)


def _run_stage(
    planned: PlannedStage, tasks: list[AnyTask], before: ByRecord, *, pictures: bool
) -> tuple[StagePreview, list[AnyTask], ByRecord]:
    """Return what the stage did, its outputs, and what is left of each record."""
    if not tasks:
        return StagePreview(planned.name, StageCounts()), [], {}
    with open_worker([replace(planned, stage=_with_score(planned.stage))]) as (worker, drops):
        call = worker.call(tasks)
        outputs = list(call.outputs())
        dropped = drops.found
    for output in outputs:
        _remove_score(output)
    counts = call.report.of(planned.index)
    examples = _drop_examples(planned.stage, dropped, before, pictures=pictures)
    after = _by_record(outputs)
    changed, changes = _changes(before, after)
    shown = StagePreview(
        planned.name,
        counts,
        reads=tuple(planned.stage.inputs()),
        changed=changed,
        changes=changes,
        drops=[
            replace(examples.get(reason, DropExample(reason, items)), items=items)
            for reason, items in sorted(counts.reasons.items(), key=lambda found: -found[1])
        ],
        quarantined=call.report.quarantined,
    )
    return shown, outputs, after


def _by_record(tasks: Sequence[AnyTask]) -> ByRecord:
    found: ByRecord = {}
    for task in tasks:
        for number, _ in task.lineage:
            found.setdefault(number, []).extend(_facts(task))
    return found


def _changes(before: ByRecord, after: ByRecord) -> tuple[int, list[Change]]:
    """Return the number of changed records and an example per column.

    Records that a stage divided or merged are left out.
    """
    changed = 0
    examples: dict[str, Change] = {}
    for number, old in before.items():
        new = after.get(number, [])
        if len(old) != len(new):
            continue
        for one, other in zip(old, new, strict=True):
            found = list(changes_in(one, other))
            changed += bool(found)
            for change in found:
                examples.setdefault(change.column, change)
    return changed, list(examples.values())


def _drop_examples(
    stage: AnyStage,
    dropped: Sequence[tuple[str, AnyTask]],
    before: ByRecord,
    *,
    pictures: bool,
) -> dict[str, DropExample]:
    """Return the first dropped record of each reason, with what the stage measured on it."""
    is_rule = hasattr(stage, "keeps") or hasattr(stage, "broken_rule")
    options = stage_options(stage) if is_rule else {}
    found: dict[str, DropExample] = {}
    for reason, task in dropped:
        facts = [] if reason in found else _facts(task)
        if not facts:
            continue
        record, numbers = facts[0], [number for number, _ in task.lineage]
        known = next(iter(before.get(numbers[0], ())), {}) if numbers else record
        values = {name: record[name] for name in record if name not in known}
        if _SCORE in record:
            values = {"score": record.pop(_SCORE)}
        thumbnail = task.thumbnail(0) if pictures else None
        limits = broken_limits(values, options)
        found[reason] = DropExample(reason, 1, record, values, limits, thumbnail)
    return found


def _with_score(stage: AnyStage) -> AnyStage:
    """Return a filter that stores its score, if it can."""
    can_store = is_dataclass(stage) and any(
        f.name == "score_field" and f.init for f in fields(stage)
    )
    if not can_store or vars(stage).get("score_field") is not None or not hasattr(stage, "keeps"):
        return stage
    scored = copy(stage)
    object.__setattr__(scored, "score_field", _SCORE)
    return scored


def _remove_score(task: AnyTask) -> None:
    if _SCORE in (task.columns() or ()):
        task.data = task.data.drop_columns([_SCORE])


def _is_mixed(tasks: Sequence[AnyTask]) -> bool:
    return any(len(task.lineage) != 1 for task in tasks)


def _examples(
    sample: Sample, before: ByRecord, after: ByRecord, *, pictures: bool
) -> list[RecordPreview]:
    """Return what became of each record."""
    return [
        RecordPreview(
            sample.source_of[number],
            before[str(number)][0],
            after.get(str(number), []),
            task.thumbnail(0) if pictures else None,
        )
        for number, task in enumerate(sample.tasks)
        if len(before[str(number)]) == 1
    ]
