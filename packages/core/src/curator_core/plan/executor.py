"""The executor interface, and the interface of a run that executors use."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, Protocol

from curator_core.errors import PipelineError
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import Lineage
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.snapshot import ExecutorState
from curator_core.model.tasks import AnyTask
from curator_core.plan.events import Events
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.plan.stop_request import StopRequest

if TYPE_CHECKING:
    from curator_core.plan.service import Service


class ResultSoFar(Protocol):
    """The part of a run's result that executors read and extend."""

    notes: list[str]
    quarantined: list[QuarantineRecord]


class RemoteRun(Protocol):
    """A run as seen by a driver on another machine, through a proxy."""

    plan: Plan
    token: str
    executor_state: Callable[[], ExecutorState] | None

    @property
    def stopping(self) -> StopRequest: ...
    @property
    def events(self) -> Events: ...
    @property
    def result(self) -> ResultSoFar: ...
    @property
    def worker_stages(self) -> tuple[PlannedStage, ...]: ...

    def sources(self) -> Iterator[AnyTask]: ...
    def earlier_blame(self, task: AnyTask) -> Blame | None: ...
    def emit(self, output: AnyTask) -> list[AnyTask]: ...
    def add_output(self, output: AnyTask) -> list[AnyTask]: ...
    def credit(self, lineages: Iterable[Lineage]) -> None: ...
    def apply_report(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]: ...
    def restart_source(self, source_id: str, reason: str) -> list[AnyTask]: ...
    def take_mixed_sources(self) -> set[str]: ...
    def fail_source(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]: ...
    def record_worker_loss(
        self, worker_id: str, reason: str, stage_index: int | None = None
    ) -> None: ...
    def add_worker_output(self, worker_id: str, text: str) -> None: ...
    def tick(self) -> None: ...


class Run(RemoteRun, Protocol):
    """A run as executors see it: it lists sources and receives reports.

    `curator_core.run.run.ActiveRun` implements it and documents each method.
    """

    counts_in_progress: dict[str, dict[int, StageCounts]]

    @property
    def has_work(self) -> bool: ...
    def blame(self, task: AnyTask) -> Blame: ...


class Buildable(Protocol):
    """Something that a plan can be built from, such as a pipeline."""

    def build(
        self, executor: "Executor | None" = None, tasks: Sequence[AnyTask] | None = None
    ) -> Plan: ...


class Executor(ABC):
    """Moves tasks through a plan. It schedules, and knows nothing about what a stage does.

    Only `curator_core.execution.worker.StageWorker` calls stages. Executors report to the run,
    which counts, publishes files and records what is finished.
    """

    why_chosen: str = "as requested"
    """Why this executor runs a pipeline, for logs."""

    capabilities: ClassVar[frozenset[str]] = frozenset()
    """Optional abilities: `isolation` (survives a crashed worker), `timeouts`, `runtime_env`,
    `open`. Hardware is not a capability: it is checked when a run starts.
    """

    def check(self, plan: Plan) -> Iterable[str]:
        """Yield the reasons why this executor cannot run the plan, each with a solution."""
        return ()

    def connect(self, plan: Plan) -> AbstractContextManager[None]:
        """Connect to where the plan will run. Raise if unreachable or short of resources.

        Entered before the output of an earlier run is removed, and exited after the run.
        """
        return nullcontext()

    def session(self) -> AbstractContextManager[None]:
        """Keep what is slow to start, such as worker processes, for the next pipeline.

        A workflow enters this around its pipelines. Nothing may outlive it. Nothing should be
        started before a pipeline needs it: all of them may be finished already.
        """
        return nullcontext()

    @abstractmethod
    def execute(self, plan: Plan, run: Run) -> Iterator[AnyTask]:
        """Take sources from `run`, move them through the plan, and yield the outputs.

        Closing the iterator early stops the work cleanly.
        """

    def open(self, pipeline: Buildable | Plan, *, most_open: int = 1000) -> "Service":
        """Keep a pipeline open for tasks as they arrive, until the service is closed.

        `most_open` limits how many tasks are being processed or have a reply not yet collected.
        """
        raise PipelineError(
            f"{type(self).__name__} runs a pipeline to its end and cannot keep it open for tasks; "
            "use StreamingExecutor().open(...) (pip install curator-streaming)"
        )
