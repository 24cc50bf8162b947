"""Serving: an executor keeps a pipeline open for tasks, or names an executor that can."""

import pytest

from curator_core.errors import PipelineError
from curator_core.model.tasks import Task
from curator_core.pipeline import Pipeline
from curator_core.testing.contract.stages import Adds, Fails
from curator_core.testing.contract.trials import Trial


class ServingContract(Trial):
    def test_an_open_pipeline_answers_each_task_once(self) -> None:
        self.needs("open")
        pipeline = Pipeline("contract", stages=[Fails(frozenset({3})), Adds(1)], on_error="fail")

        with self.make_executor().open(pipeline) as service:
            tickets = {service.submit(Task(number)): number for number in range(6)}
            replies = [service.take(timeout=self.patience_s) for _ in tickets]

        answers = {tickets[r.ticket]: [task.data for task in r.outputs] for r in replies}
        assert answers == {0: [1], 1: [2], 2: [3], 3: [], 4: [5], 5: [6]}
        [failure] = [failure for reply in replies for failure in reply.failures]
        assert "number 3 is bad" in failure.reason
        assert len(service) == 0

    def test_who_cannot_stay_open_names_one_that_can(self) -> None:
        executor = self.make_executor()
        if "open" in executor.capabilities:
            pytest.skip("it can")

        with pytest.raises(PipelineError, match=r"StreamingExecutor\(\)\.open"):
            executor.open(Pipeline("contract", stages=[Adds(1)]))
