"""Run stages directly in this process, without a run directory or an executor."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from curator_core.execution.timeouts import AlarmTimer
from curator_core.execution.worker import StageWorker
from curator_core.model.ids import fingerprint
from curator_core.model.lineage import whole_credit
from curator_core.model.policies import ErrorPolicy, OnError
from curator_core.model.records import StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.stages import AnyStage, flatten
from curator_core.model.tasks import AnyTask
from curator_core.plan.fusion import fuse as fuse_plan
from curator_core.plan.plan import Plan, PlannedStage


@dataclass
class StageRun:
    """The outputs of stages that were run directly, and the report."""

    outputs: list[AnyTask]
    report: CallReport

    @property
    def counts(self) -> StageCounts:
        """Counts of the first stage."""
        return self.report.of(0)


def run_stage(stage: AnyStage, *tasks: AnyTask, on_error: OnError = "fail") -> list[AnyTask]:
    """Set up a stage, run it on `tasks` and tear it down, as a worker would; return its outputs.

    A failure raises StageError unless `on_error` says otherwise. Retries do not wait. A composite
    stage runs all its parts.
    """
    return run_stages([stage], tasks, on_error=on_error).outputs


def run_stages(
    stages: Sequence[AnyStage],
    tasks: Sequence[AnyTask],
    *,
    on_error: OnError = "fail",
    fuse: bool = True,
) -> StageRun:
    """Run several stages in a row. The report has counts, drops, quarantine records and credit."""
    sources = [as_source(task, i) for i, task in enumerate(tasks)]
    return run_in_worker(stages, sources, on_error, fuse=fuse)


def as_source(task: AnyTask, position: int) -> AnyTask:
    """Return a copy that starts a lineage, like a source in a run. An existing id is kept."""
    source = copy(task)
    source.timings = {}
    source.task_id = task.task_id or fingerprint(str(position), task.identity() or "")
    source.lineage = task.lineage or whole_credit(source.task_id, 1)
    return source


def run_in_worker(
    stages: Sequence[AnyStage],
    sources: Sequence[AnyTask],
    on_error: OnError,
    *,
    fuse: bool = True,
) -> StageRun:
    """Run one worker: set up, make one call with all sources, and always tear down."""
    watch = AlarmTimer() if AlarmTimer.works_here() else None
    worker = StageWorker(unchecked_plan(stages, on_error, fuse=fuse), WorkerInfo(), watch=watch)
    worker.setup_on_node()
    try:
        worker.setup()
        call = worker.call(sources)
        return StageRun(list(call.outputs()) if sources else [], call.report)
    finally:
        worker.teardown()


def unchecked_plan(stages: Sequence[AnyStage], on_error: OnError, *, fuse: bool = True) -> Plan:
    """Return an unvalidated plan of these stages."""
    flat = flatten(stages)
    planned = tuple(_plan_stage(i, stage, on_error) for i, stage in enumerate(flat))
    plan = Plan("testing", planned)
    return fuse_plan(plan) if fuse else plan


def _plan_stage(index: int, stage: AnyStage, on_error: OnError) -> PlannedStage:
    policy = ErrorPolicy(on_error, stage.retries, stage.timeout_s, backoff_s=0.0)
    return PlannedStage.of(index, stage, policy)
