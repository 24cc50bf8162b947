"""Trials: one pipeline after another for the executor that is under test."""

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
    """What the parts of the contract run their pipelines with."""

    patience_s = 60.0
    """How long an executor may take to start its workers and give the first output."""

    def make_executor(self) -> Executor:
        """The executor to be held to the contract, a new one at each call."""
        raise NotImplementedError(f"{type(self).__name__} does not define make_executor")

    def needs(self, capability: str) -> None:
        """Skip what this executor does not claim to be able to do."""
        executor = self.make_executor()
        if capability not in executor.capabilities:
            pytest.skip(f"{executor} does not claim {capability}")

    def run(
        self, *stages: AnyStage, numbers: Iterable[int] = range(10), **options: Any
    ) -> RunResult:
        pipeline, how = _pipeline(stages, options)
        return pipeline.run(self.make_executor(), tasks=tasks(numbers), **how)

    def job(self, *stages: AnyStage, numbers: Iterable[int] = range(10), **options: Any) -> Job:
        """The same, to be started in a process of its own."""
        pipeline, how = _pipeline(stages, options)
        return Job(pipeline, self.make_executor(), tasks(numbers), how)


def tasks(numbers: Iterable[int]) -> list[AnyTask]:
    return [Task(number) for number in numbers]


def data(outputs: Iterable[AnyTask]) -> list[Any]:
    """What came out, whichever order it came in."""
    return sorted(task.data for task in outputs)


def untimed(counts: StageCounts) -> dict[str, Any]:
    """A stage's account, but for how long it took."""
    return {name: value for name, value in counts.to_json().items() if name != "seconds"}


def _pipeline(
    stages: Iterable[AnyStage], options: dict[str, Any]
) -> tuple[Pipeline, dict[str, Any]]:
    how = {name: options[name] for name in RUN_OPTIONS & options.keys()}
    rest = {name: value for name, value in options.items() if name not in RUN_OPTIONS}
    return Pipeline("contract", stages=list(stages), **rest), how
