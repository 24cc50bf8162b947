"""The stage worker: the only code that calls stages."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from curator_core.errors import (
    OutputError,
    StageError,
    detail_of,
    reason_of,
    remove_callers,
    user_code_location,
)
from curator_core.execution.accounting import Account
from curator_core.execution.exit_guard import StageCode
from curator_core.execution.fused_step import FusedStep
from curator_core.execution.step import Step
from curator_core.execution.timeouts import NoWatch, Watch
from curator_core.logs import log
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import halve_all, source_of
from curator_core.model.metrics import MetricsRecorder
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.samples import Sampler
from curator_core.model.stages import DropSink, attach_recorder, detach_recorder
from curator_core.model.tasks import AnyTask
from curator_core.model.usage import Timesheet
from curator_core.plan.plan import Plan, PlannedStage

LOG = log()


class StageWorker:
    """Run all stages of a plan, or some consecutive ones, over tasks."""

    def __init__(
        self,
        plan: Plan,
        worker: WorkerInfo,
        stages: Sequence[PlannedStage] | None = None,
        watch: Watch | None = None,
        timesheet: Timesheet | None = None,
    ) -> None:
        """Workers in the same process share a `timesheet`."""
        self.plan = plan
        self.worker = worker
        self.stages = tuple(plan.steps if stages is None else stages)
        self._parts = [part for step in self.stages for part in step.parts]
        self.watch = watch or NoWatch()
        self.timesheet = timesheet or Timesheet()
        self.sampler = Sampler() if plan.samples else None
        self._recorders = {part.index: MetricsRecorder(part.name) for part in self._parts}
        self._is_up: list[PlannedStage] = []

    def setup_on_node(self) -> None:
        """Prepare the node. The caller ensures that this runs once per node and stage."""
        for planned in self._parts:
            with self._setting_up(planned, "prepare its node"):
                planned.stage.setup_on_node(self.worker.node)

    def setup(self) -> None:
        """Set up the remaining stages. If one fails, `teardown` undoes the ones before it."""
        for planned in self._parts[len(self._is_up) :]:
            started = time.perf_counter()
            with self._setting_up(planned, "be set up"):
                planned.stage.setup(self.worker)
            self.timesheet.set_up(planned.index, time.perf_counter() - started)
            self._is_up.append(planned)

    @contextmanager
    def _setting_up(self, planned: PlannedStage, purpose: str) -> Iterator[None]:
        """Watch a stage, and name it if it fails: there is no task yet to quarantine."""
        attach_recorder(planned.stage, self._recorders[planned.index])
        self.watch.begin(planned.index, (), planned.policy.setup_timeout_s)
        try:
            with StageCode():
                yield
        except Exception as error:
            remove_callers(error)
            raise StageError(
                f"stage {planned.name!r} could not {purpose}: "
                f"{reason_of(error)}{user_code_location(error)}",
                stage=planned.name,
                detail=detail_of(error),
            ) from error
        finally:
            self.watch.end()

    def teardown(self) -> None:
        """Tear down all stages that were set up, in reverse order, even if one of them fails."""
        while self._is_up:
            planned = self._is_up.pop()
            self._recorders[planned.index].is_open = False
            try:
                with StageCode():
                    planned.stage.teardown()
            except Exception as error:  # noqa: BLE001 - boundary to a stage's code
                reason = reason_of(error) + user_code_location(error)
                LOG.warning("stage %r: teardown failed: %s", planned.name, reason)
        for part in self._parts:
            detach_recorder(part.stage)

    def open_recorder(self, part: PlannedStage) -> MetricsRecorder:
        """Let a stage log metrics until it is torn down."""
        recorder = self._recorders[part.index]
        recorder.is_open = True
        recorder.take()  # what a call logged that was aborted
        attach_recorder(part.stage, recorder)
        return recorder

    def call(self, tasks: Sequence[AnyTask], blame: Blame | None = None) -> "WorkerCall":
        """Start a call. Nothing runs until its outputs are iterated."""
        return WorkerCall(self, tasks, blame or Blame())


class WorkerCall:
    """One pass of tasks through the stages of a worker."""

    def __init__(self, worker: StageWorker, tasks: Sequence[AnyTask], blame: Blame) -> None:
        self.report = CallReport()
        self._worker = worker
        self._tasks = tasks
        self._blame = blame
        self._halves = list(halve_all(task.lineage for task in tasks))

    def outputs(self) -> Generator[AnyTask, None, None]:
        """Yield the outputs of the last stage. The report is complete when this ends."""
        drops = drop_sink(self._worker.plan, self._worker.worker)
        flow: Iterable[AnyTask] = self._reserving_credit()
        for planned in self._worker.stages:
            steps = [
                Step(
                    part,
                    Account(part, self.report, drops, self._worker.sampler),
                    self._worker.watch,
                    self._blame,
                    planned.index,
                    self._worker.open_recorder(part),
                )
                for part in planned.parts
            ]
            flow = (FusedStep(planned, steps) if planned.members else steps[0]).outputs(flow)
        yield from self._measure_held_time(flow)
        if drops is not None:
            sources = tuple({key: None for task in self._tasks for key in task.lineage})
            call_id = _call_id(self._tasks[0], self._worker.stages[0])
            try:
                kept = drops.finish(call_id)
            except (OSError, OutputError) as error:
                raise StageError(f"dropped records cannot be stored: {reason_of(error)}") from error
            self.report.staged += [(file, sources) for file in kept]
        for half in self._halves:
            self.report.spend(half)
        self._worker.timesheet.end()

    def _measure_held_time(self, flow: Iterable[AnyTask]) -> Iterator[AnyTask]:
        """Yield the outputs, and measure how long the consumer held each one."""
        stages, usages = self._worker.stages, self.report.usages
        if not stages:
            yield from flow
            return
        self._worker.timesheet.begin(usages, stages[0].index)
        last = usages.of(stages[-1].index)
        for output in flow:
            if output.derived:  # the consumer may keep the output for long
                output.derived = {}
            given = time.perf_counter()
            yield output
            last.held_s += time.perf_counter() - given
            del output  # do not hold it while the next output is made

    def _reserving_credit(self) -> Iterator[AnyTask]:
        """Yield the tasks with half their credit; the report returns the other half.

        Outputs can arrive long before the report, with all remaining credit of their sources. The
        held half keeps sources from being finished before the report arrives.
        """
        for task, half in zip(self._tasks, self._halves, strict=True):
            lent = task.twin()
            lent.lineage = half
            yield lent
            del lent


def _call_id(task: AnyTask, first: PlannedStage) -> str:
    """Return an id per retry, so that dropped records of a retry do not replace earlier ones."""
    _, _, retried = source_of(task.lineage).partition("-")
    again = f".retry{retried.rpartition('-')[2]}" if retried else ""
    return f"{task.task_id}.{first.index}{again}"


def drop_sink(plan: Plan, worker: WorkerInfo) -> DropSink | None:
    """Return the sink of the stage that keeps dropped records, or None."""
    for planned in plan.stages:
        sink = planned.stage.drop_sink(worker)
        if sink is not None:
            return sink
    return None
