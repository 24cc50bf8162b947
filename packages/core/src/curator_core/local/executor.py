"""LocalExecutor: needs nothing but Python."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from curator_core.local.inline import run_here
from curator_core.local.machine import unmet_demands, workers_for
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor, Run
from curator_core.plan.plan import Plan


@dataclass
class LocalExecutor(Executor):
    """Runs every stage here (`workers=0`: breakpoints work), or in so many processes.

    Each process runs the whole line of stages for one source at a time; by default there is one
    for each core.
    """

    workers: int | None = None
    """How many processes; 0 runs all in this one, and without there is one for each core."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts"})

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 0:
            raise ValueError(
                f"workers is {self.workers}, but must be 0 (this process), 1, 2, … or None "
                "(one for each core)"
            )
        if self.workers == 0:
            self.capabilities = frozenset({"timeouts"})  # type: ignore[misc]

    def check(self, plan: Plan) -> Iterable[str]:
        return unmet_demands(plan, in_process=self.workers == 0)

    @contextmanager
    def reach(self, plan: Plan) -> Iterator[None]:
        if self.workers != 0:
            from curator_core.local.pool import refuse_what_cannot_travel

            refuse_what_cannot_travel(plan)
        yield

    def execute(self, plan: Plan, run: Run) -> Iterator[AnyTask]:
        if self.workers == 0:
            yield from run_here(plan, run)
            return
        from curator_core.local.pool import Pool

        yield from Pool(plan, run, workers_for(plan, self.workers)).outputs()
