"""Inline execution: run the stages in this process, where breakpoints work."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from curator_core.execution.timeouts import AlarmClock, BrokenOffError
from curator_core.execution.worker import StageWorker
from curator_core.local.machine import visible_gpus
from curator_core.model.resources import WorkerInfo
from curator_core.model.snapshot import Workshop
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Run
from curator_core.plan.plan import Plan
from curator_core.plan.stop_request import StopRequest


class Overseer(AlarmClock):
    """Interrupts calls that exceed their timeout, and work that continues after the drain time."""

    def __init__(self, stopping: StopRequest) -> None:
        super().__init__()
        self._stopping = stopping

    def begin(self, stage_index: int, tasks: Sequence[AnyTask], timeout_s: float | None) -> None:
        if self._stopping.is_overdue:
            raise BrokenOffError
        super().begin(stage_index, tasks, timeout_s)


def run_here(plan: Plan, run: Run) -> Iterator[AnyTask]:
    info = WorkerInfo("0", run_token=run.token, gpu_ids=tuple(visible_gpus()))
    worker = StageWorker(plan, info, run.worker_stages, Overseer(run.stopping))
    is_up = False
    run.workshop = lambda: Workshop({"busy": 1}, {})
    try:
        for source in run.sources():
            if not is_up:
                worker.setup_on_node()
                worker.setup()
                is_up = True
            call = worker.call([source], run.blame(source))
            with closing(call.outputs()) as outputs:
                for output in outputs:
                    yield from run.deliver(output)
                    del output  # free it before the next one is made
                    run.tick()
            yield from run.absorb(call.report, [source])
            run.tick()
    except BrokenOffError:
        pass  # the run reports the stop itself
    finally:
        worker.teardown()
