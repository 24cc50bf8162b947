"""LocalExecutor: run stages on this machine, without other dependencies."""

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
    """Runs all stages in this process (`workers=0`, where breakpoints work) or in workers.

    Each worker process runs all stages for one source at a time.
    """

    workers: int | None = None
    """Number of worker processes (0: this process only). By default, one per core."""

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
