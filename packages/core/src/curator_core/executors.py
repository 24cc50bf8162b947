"""What an executor is: the part that decides where and when stages run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, ClassVar

from curator_core.outcomes import AnyTask
from curator_core.plans import Plan

if TYPE_CHECKING:
    from curator_core.pipelines import Pipeline
    from curator_core.runs.running import Run
    from curator_core.services import Service


class Executor(ABC):
    """Moves tasks through a plan. It schedules, and never looks at what a stage does.

    Stages are run by `curator_core.worker.StageWorker` alone; what became of tasks is told to the
    `Run`, which keeps the accounts, publishes files and remembers what is finished.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    """What only some executors can do: `isolation` (outlives a dying worker), `timeouts`,
    `runtime_env`, `open`. Hardware is no capability: what is there is seen when a run begins."""

    def check(self, plan: Plan) -> Iterable[str]:
        """What in this plan cannot be run here, each with a way out."""
        return ()

    def reach(self, plan: Plan) -> AbstractContextManager[None]:
        """Be where the plan will run; raise where that does not answer, or lacks what it needs.

        Entered before the output of an earlier run is taken away, and left after the run.
        """
        return nullcontext()

    @abstractmethod
    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        """Take sources from `run`, push them through the plan, and yield what comes out.

        Closing the iterator early stops the work in order.
        """

    def open(self, pipeline: "Pipeline | Plan", *, most_open: int = 1000) -> "Service":
        """Serve a pipeline: it takes tasks as they arrive, until it is closed.

        `most_open` tasks may be on their way, or be answered with nobody taking the answer.
        """
        from curator_core.services import refuse

        raise refuse(self)
