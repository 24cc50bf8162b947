"""The stage worker: the only code that calls stages."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from curator_core.errors import OutputError, StageError, detail_of, reason_of
from curator_core.execution.accounting import Account
from curator_core.execution.exits import StageCode
from curator_core.execution.step import Step
from curator_core.execution.timeouts import Unwatched, Watch
from curator_core.logs import log
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import halved, source_of
from curator_core.model.reports import CallReport
from curator_core.model.resources import WorkerInfo
from curator_core.model.samples import Sampler
from curator_core.model.stages import DropSink
from curator_core.model.tasks import AnyTask
from curator_core.model.usage import Timesheet
from curator_core.plan.plan import Plan, PlannedStage

LOG = log()


class StageWorker:
    """Runs stages of a plan, all of them or some in a row, over the tasks it is given."""

    def __init__(
        self,
        plan: Plan,
        worker: WorkerInfo,
        stages: Sequence[PlannedStage] | None = None,
        watch: Watch | None = None,
        timesheet: Timesheet | None = None,
    ) -> None:
        """Those that share a process share a `timesheet`."""
        self.plan = plan
        self.worker = worker
        self.stages = tuple(plan.stages if stages is None else stages)
        self.watch = watch or Unwatched()
        self.timesheet = timesheet or Timesheet()
        self.sampler = Sampler() if plan.samples else None
        self._is_up: list[PlannedStage] = []

    def setup_on_node(self) -> None:
        """Once for each node and stage: whoever calls this has seen to that."""
        for planned in self.stages:
            with self._watched(planned), _named(planned, "prepare its node"):
                planned.stage.setup_on_node(self.worker.node)

    def setup(self) -> None:
        """Set up what is not yet; where one stage fails, `teardown` undoes those before it."""
        for planned in self.stages[len(self._is_up) :]:
            started = time.perf_counter()
            with self._watched(planned), _named(planned, "be set up"):
                planned.stage.setup(self.worker)
            self.timesheet.set_up(planned.index, time.perf_counter() - started)
            self._is_up.append(planned)

    @contextmanager
    def _watched(self, planned: PlannedStage) -> Iterator[None]:
        self.watch.begin(planned.index, (), planned.policy.setup_timeout_s)
        try:
            yield
        finally:
            self.watch.end()

    def teardown(self) -> None:
        """Tear down every stage that was set up, last one first, even where one of them fails."""
        while self._is_up:
            planned = self._is_up.pop()
            try:
                with StageCode():
                    planned.stage.teardown()
            except Exception as error:  # noqa: BLE001 - the border to a stage's code
                LOG.warning("stage %r: teardown failed: %s", planned.name, reason_of(error))

    def call(self, tasks: Sequence[AnyTask], blame: Blame | None = None) -> "Call":
        """Start a call; nothing happens until its outputs are asked for."""
        return Call(self, tasks, blame or Blame())


class Call:
    """One walk of some tasks through the stages of a worker."""

    def __init__(self, worker: StageWorker, tasks: Sequence[AnyTask], blame: Blame) -> None:
        self.report = CallReport()
        self._worker = worker
        self._tasks = tasks
        self._blame = blame
        self._halves = list(halved(task.lineage for task in tasks))

    def outputs(self) -> Generator[AnyTask, None, None]:
        """What comes out at the end, as it comes. Afterwards the report is complete."""
        drops = drop_sink(self._worker.plan, self._worker.worker)
        flow: Iterable[AnyTask] = self._with_half_their_credit()
        for planned in self._worker.stages:
            account = Account(planned, self.report, drops, self._worker.sampler)
            step = Step(planned, account, self._worker.watch, self._blame)
            flow = step.outputs(flow)
        yield from self._handed_on(flow)
        if drops is not None:
            sources = tuple({key: None for task in self._tasks for key in task.lineage})
            call_id = _call_id(self._tasks[0], self._worker.stages[0])
            try:
                kept = drops.finish(call_id)
            except (OSError, OutputError) as error:
                raise StageError(f"dropped records cannot be kept: {reason_of(error)}") from error
            self.report.staged += [(file, sources) for file in kept]
        for half in self._halves:
            self.report.spend(half)
        self._worker.timesheet.end()

    def _handed_on(self, flow: Iterable[AnyTask]) -> Iterator[AnyTask]:
        """What comes out, with a note of how long it took until somebody took it."""
        stages, usages = self._worker.stages, self.report.usages
        if not stages:
            yield from flow
            return
        self._worker.timesheet.begin(usages, stages[0].index)
        last = usages.of(stages[-1].index)
        for output in flow:
            if output.derived:  # who takes it from here may keep it for long
                output.derived = {}
            given = time.perf_counter()
            yield output
            last.held_s += time.perf_counter() - given
            del output  # or it would stay while the next one is being made

    def _with_half_their_credit(self) -> Iterator[AnyTask]:
        """The other half comes back with the report: no source is finished before that is there.

        Outputs may be far ahead of it, and with them all the credit of their sources.
        """
        for task, half in zip(self._tasks, self._halves, strict=True):
            lent = task.twin()
            lent.lineage = half
            yield lent
            del lent


def _call_id(task: AnyTask, first: PlannedStage) -> str:
    """What a retry drops must not replace what was dropped in the call that failed."""
    _, _, retried = source_of(task.lineage).partition("-")
    again = f".retry{retried.rpartition('-')[2]}" if retried else ""
    return f"{task.task_id}.{first.index}{again}"


def drop_sink(plan: Plan, worker: WorkerInfo) -> DropSink | None:
    """The sink of the stage that asked to keep dropped records, if one did."""
    for planned in plan.stages:
        sink = planned.stage.drop_sink(worker)
        if sink is not None:
            return sink
    return None


@contextmanager
def _named(planned: PlannedStage, purpose: str) -> Iterator[None]:
    """Name the stage that did not come up; there is no task yet that could be quarantined."""
    try:
        with StageCode():
            yield
    except Exception as error:
        raise StageError(
            f"stage {planned.name!r} could not {purpose}: {reason_of(error)}",
            stage=planned.name,
            detail=detail_of(error),
        ) from error
