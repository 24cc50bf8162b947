"""The streaming executor keeps the contract."""

import pytest
from curator_core import Executor
from curator_core.testing import ExecutorContract
from curator_core.testing.contracts import (
    FailuresContract,
    LifetimesContract,
    ResultsContract,
    ResumingContract,
)
from curator_streaming.executor import StreamingExecutor


@pytest.mark.usefixtures("private_ray")
class TestStreaming(ExecutorContract):
    def make_executor(self) -> Executor:
        return StreamingExecutor(config={"object_store_gb": 0.3})


@pytest.mark.usefixtures("private_ray")
class TestBatch(ResultsContract, FailuresContract, LifetimesContract, ResumingContract):
    """Stage after stage, by the same scheduler.

    Left out is what promises that something is finished while the rest is still to be done: with
    barriers nothing is finished before the last stage has begun.
    """

    test_a_failed_run_goes_on_where_it_failed = None
    test_a_run_over_its_budget_keeps_what_was_done = None
    test_after_an_interruption = None

    def make_executor(self) -> Executor:
        return StreamingExecutor(config={"execution_mode": "batch"})
