"""A fused step: run a fused stage in one pass, and count its stages as if each had run alone."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from curator_core.execution.step import Made, Step, pop_each
from curator_core.model.stages import FusedStage
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import PlannedStage


class FusedStep:
    """Run one fused stage over the tasks of one call; `steps` are those of its members.

    If the pass fails, or a worker died during it, the members run one after another, so that
    failures and retries belong to the right one.
    """

    def __init__(self, planned: PlannedStage, steps: Sequence[Step]) -> None:
        assert isinstance(planned.stage, FusedStage)
        self.stage = planned.stage
        self.steps = steps

    def outputs(self, tasks: Iterable[AnyTask]) -> Iterator[AnyTask]:
        """Yield the outputs of the last member."""
        for task in tasks:
            made = self._run(task)
            del task  # do not hold the task while its outputs are processed
            yield from pop_each(made)
            self.steps[0].stopwatch.finish_tasks()

    def _run(self, task: AnyTask) -> Made:
        results = self._results(task)
        if results is None:
            for step in self.steps:
                step.recorder.take()  # each logs it again
            return self._run_one_by_one(task)
        for step in self.steps:
            step.count_metrics([task])
        made: Made = deque((task,))
        for step, result in zip(self.steps, results, strict=True):
            for output in made:  # at most one
                made = step.handle_result(output, step.account.take(output), result)
        return made

    def _results(self, task: AnyTask) -> Sequence[Any] | None:
        first = self.steps[0]
        if any(step.blame.is_suspect(step.planned.index, [task]) for step in self.steps):
            return None
        try:
            return first.watched([task], lambda: self.stage.process_members(task))
        except Exception:  # noqa: BLE001 - running the members one by one shows whose error it is
            return None

    def _run_one_by_one(self, task: AnyTask) -> Iterator[AnyTask]:
        flow: Iterable[AnyTask] = [task]
        for step in self.steps:
            flow = step.outputs(flow)
        yield from flow
