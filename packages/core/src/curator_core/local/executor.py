"""LocalExecutor: run stages on this machine, without other dependencies."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from curator_core.errors import AbortedError
from curator_core.execution.timeouts import AlarmTimer
from curator_core.execution.worker import StageWorker
from curator_core.local.sizing import unmet_demands, workers_for
from curator_core.model.hardware import visible_gpus
from curator_core.model.resources import WorkerInfo
from curator_core.model.snapshot import ExecutorState
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor, Run
from curator_core.plan.plan import Plan
from curator_core.plan.stop_request import StopRequest

if TYPE_CHECKING:
    from curator_core.local.worker_cache import WorkerCache


class DrainWatch(AlarmTimer):
    """Interrupts calls that exceed their timeout, and work that continues after the drain time."""

    def __init__(self, stopping: StopRequest) -> None:
        super().__init__()
        self._stopping = stopping

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        if self._stopping.is_overdue:
            raise AbortedError
        super().begin(stage_index, tasks, timeout_s)


def run_in_process(plan: Plan, run: Run) -> Iterator[AnyTask]:
    info = WorkerInfo("0", run_token=run.token, gpu_ids=tuple(visible_gpus()))
    worker = StageWorker(plan, info, run.worker_stages, DrainWatch(run.stopping))
    is_up = False
    run.executor_state = lambda: ExecutorState({"busy": 1}, {})
    try:
        for source in run.sources():
            if not is_up:
                worker.setup_on_node()
                worker.setup()
                is_up = True
            call = worker.call([source], run.blame(source))
            with closing(call.outputs()) as outputs:
                for output in outputs:
                    yield from run.add_output(output)
                    del output  # free it before the next one is made
                    run.tick()
            yield from run.apply_report(call.report, [source])
            run.tick()
    except AbortedError:
        pass  # the run reports the stop itself
    finally:
        worker.teardown()


@dataclass
class LocalExecutor(Executor):
    """Runs all stages in this process (`workers=0`, where breakpoints work) or in workers.

    Each worker process runs all stages for one source at a time. The pipelines of a workflow use
    the same processes.
    """

    workers: int | None = None
    """Number of worker processes (0: this process only). By default, one per core."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation", "timeouts"})

    def __post_init__(self) -> None:
        self._cache: WorkerCache | None = None
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
    def connect(self, plan: Plan) -> Iterator[None]:
        if self.workers != 0:
            from curator_core.local.pool import refuse_unpicklable_stages

            refuse_unpicklable_stages(plan)
        yield

    @contextmanager
    def session(self) -> Iterator[None]:
        if self.workers == 0 or self._cache is not None:
            yield
            return
        from curator_core.local.worker_cache import WorkerCache

        self._cache = cache = WorkerCache(keeps_idle=True)
        try:
            with cache.in_use():
                yield
        finally:
            self._cache = None

    def execute(self, plan: Plan, run: Run) -> Iterator[AnyTask]:
        if self.workers == 0:
            yield from run_in_process(plan, run)
            return
        from curator_core.local.pool import WorkerPool
        from curator_core.local.worker_cache import WorkerCache

        cache = self._cache or WorkerCache(keeps_idle=False)
        with cache.in_use():
            yield from WorkerPool(plan, run, workers_for(plan, self.workers), cache).outputs()
