"""Trials: run pipelines on the executor under test."""

from collections.abc import Iterable
from typing import Any

import pytest

from curator_core.model.records import StageCounts
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import AnyTask, Task
from curator_core.pipeline import Pipeline
from curator_core.plan.executor import Executor
from curator_core.run.result import RunResult
from curator_core.testing.contract.jobs import Job

RUN_OPTIONS = frozenset({"run_dir", "resume"})


class Trial:
    """Base of the parts of the contract: runs pipelines."""

    patience_s = 60.0
    """Seconds an executor may take to start its workers and return the first output."""

    def make_executor(self) -> Executor:
        """Return a new instance of the executor under test."""
        raise NotImplementedError(f"{type(self).__name__} does not define make_executor")

    def needs(self, capability: str) -> None:
        """Skip the test if the executor does not have this capability."""
        executor = self.make_executor()
        if capability not in executor.capabilities:
            pytest.skip(f"{executor} does not claim {capability}")

    def run(
        self, *stages: AnyStage, numbers: Iterable[int] = range(10), **options: Any
    ) -> RunResult:
        pipeline, how = _pipeline(stages, options)
        return pipeline.run(self.make_executor(), tasks=tasks(numbers), **how)

    def job(self, *stages: AnyStage, numbers: Iterable[int] = range(10), **options: Any) -> Job:
        """Return the same pipeline as a job for another process."""
        pipeline, how = _pipeline(stages, options)
        return Job(pipeline, self.make_executor(), tasks(numbers), how)


def tasks(numbers: Iterable[int]) -> list[AnyTask]:
    return [Task(number) for number in numbers]


def data(outputs: Iterable[AnyTask]) -> list[Any]:
    """Return the sorted data of the outputs."""
    return sorted(task.data for task in outputs)


def untimed(counts: StageCounts) -> dict[str, Any]:
    """Return a stage's counts without its time."""
    return {name: value for name, value in counts.to_json().items() if name != "seconds"}


def _pipeline(
    stages: Iterable[AnyStage], options: dict[str, Any]
) -> tuple[Pipeline, dict[str, Any]]:
    how = {name: options[name] for name in RUN_OPTIONS & options.keys()}
    rest = {name: value for name, value in options.items() if name not in RUN_OPTIONS}
    return Pipeline("contract", stages=list(stages), **rest), how
