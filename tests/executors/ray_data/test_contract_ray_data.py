"""The Ray Data executor keeps the contract."""

import pytest
from curator_core import Executor
from curator_core.testing.executor_contract import (
    FailuresContract,
    LifetimesContract,
    ResultsContract,
    ResumingContract,
    ServingContract,
    StreamingContract,
)
from curator_ray_data.executor import RayDataExecutor


@pytest.mark.usefixtures("private_ray")
class TestRayData(ResultsContract, StreamingContract, ServingContract):
    test_a_worker_that_dies = FailuresContract.test_a_worker_that_dies_once_costs_nothing
    test_a_bad_task = FailuresContract.test_a_bad_task_is_quarantined_and_the_others_continue

    def make_executor(self) -> Executor:
        return RayDataExecutor(config={"object_store_gb": 0.3})


@pytest.mark.soak  # the run and the workers do this for all executors on Ray
@pytest.mark.usefixtures("private_ray")
class TestRayDataAtLength(FailuresContract, LifetimesContract, ResumingContract):
    def make_executor(self) -> Executor:
        return RayDataExecutor(config={"object_store_gb": 0.3})
