"""What an executor is: the part that decides where and when stages run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from curator_core.outcomes import AnyTask
from curator_core.plans import Plan

if TYPE_CHECKING:
    from curator_core.runs.running import Run


class Executor(ABC):
    """Moves tasks through a plan. It schedules, and never looks at what a stage does.

    Stages are run by `curator_core.worker.StageWorker` alone; what became of tasks is told to the
    `Run`, which keeps the accounts, publishes files and remembers what is finished.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    """What only some executors can do: `isolation` (outlives a dying worker), `timeouts`, `gpus`,
    `runtime_env`, `nodes`."""

    def check(self, plan: Plan) -> Iterable[str]:
        """What in this plan cannot be run here, each with a way out."""
        return ()

    @abstractmethod
    def execute(self, plan: Plan, run: "Run") -> Iterator[AnyTask]:
        """Take sources from `run`, push them through the plan, and yield what comes out.

        Closing the iterator early stops the work in order.
        """
