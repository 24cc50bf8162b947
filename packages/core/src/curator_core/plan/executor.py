"""The executor interface, and the view of a run that executors get."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar, Protocol

from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import Lineage
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.reports import CallReport
from curator_core.model.snapshot import Workshop
from curator_core.model.tasks import AnyTask
from curator_core.plan.events import Events
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.plan.stop_request import StopRequest

if TYPE_CHECKING:
    from curator_core.plan.service import Service


class ResultSoFar(Protocol):
    """What executors read and add to in the result of a run."""

    notes: list[str]
    quarantined: list[QuarantineRecord]


class RemoteRun(Protocol):
    """A run as a driver on another machine sees it, by way of a stand-in."""

    plan: Plan
    token: str
    workshop: Callable[[], Workshop] | None

    @property
    def stopping(self) -> StopRequest: ...
    @property
    def events(self) -> Events: ...
    @property
    def result(self) -> ResultSoFar: ...
    @property
    def worker_stages(self) -> tuple[PlannedStage, ...]: ...

    def sources(self) -> Iterator[AnyTask]: ...
    def brought(self, task: AnyTask) -> Blame | None: ...
    def show(self, output: AnyTask) -> list[AnyTask]: ...
    def deliver(self, output: AnyTask) -> list[AnyTask]: ...
    def credit(self, lineages: Iterable[Lineage]) -> None: ...
    def absorb(self, report: CallReport, sources: Sequence[AnyTask]) -> list[AnyTask]: ...
    def again(self, source_id: str, reason: str) -> list[AnyTask]: ...
    def void_mixed(self) -> set[str]: ...
    def give_up(self, source_id: str, reason: str, stage: PlannedStage) -> list[AnyTask]: ...
    def worker_gone(self, worker_id: str, reason: str, stage_index: int | None = None) -> None: ...
    def add_worker_output(self, worker_id: str, text: str) -> None: ...
    def tick(self) -> None: ...


class Run(RemoteRun, Protocol):
    """A run as executors see it: where sources come from, and where reports go.

    `curator_core.run.run.ActiveRun` implements it, and says what each method is for.
    """

    under_way: dict[str, dict[int, StageCounts]]

    @property
    def has_work(self) -> bool: ...
    def blame(self, task: AnyTask) -> Blame: ...


class Buildable(Protocol):
    """What a plan can be built from: a pipeline."""

    def build(
        self, executor: "Executor | None" = None, tasks: Sequence[AnyTask] | None = None
    ) -> Plan: ...


class Executor(ABC):
    """Moves tasks through a plan. It schedules, and never looks at what a stage does.

    Stages are called by `curator_core.execution.worker.StageWorker` alone. Executors report to the
    run, which keeps the accounts, publishes files and remembers what is finished.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    """What only some executors can do: `isolation` (outlives a dying worker), `timeouts`,
    `runtime_env`, `open`. Hardware is not a capability: it is checked when a run begins."""

    def check(self, plan: Plan) -> Iterable[str]:
        """Yield what in this plan cannot run here, each with a way out."""
        return ()

    def reach(self, plan: Plan) -> AbstractContextManager[None]:
        """Connect to where the plan will run; raise if it cannot be reached or lacks resources.

        Entered before the output of an earlier run is taken away, and left after the run.
        """
        return nullcontext()

    @abstractmethod
    def execute(self, plan: Plan, run: Run) -> Iterator[AnyTask]:
        """Take sources from `run`, push them through the plan, and yield the outputs.

        Closing the iterator early stops the work in order.
        """

    def open(self, pipeline: Buildable | Plan, *, most_open: int = 1000) -> "Service":
        """Keep a pipeline open for tasks as they arrive, until the service is closed.

        `most_open` limits how many tasks are under way or answered but not yet collected.
        """
        from curator_core.plan.service import refuse

        raise refuse(self)
