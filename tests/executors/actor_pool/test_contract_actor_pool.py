"""The actor pool executor keeps the contract."""

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Executor
from curator_core.testing.executor_contract import (
    FailuresContract,
    LifetimesContract,
    ResultsContract,
    ResumingContract,
    ServingContract,
    StreamingContract,
)


@pytest.mark.usefixtures("private_ray")
class TestActorPool(ResultsContract, StreamingContract, FailuresContract, ServingContract):
    def make_executor(self) -> Executor:
        return RayActorPoolExecutor(config={"object_store_gb": 0.3})


@pytest.mark.soak  # the run and the workers do this for all executors on Ray
@pytest.mark.usefixtures("private_ray")
class TestActorPoolAtLength(LifetimesContract, ResumingContract):
    def make_executor(self) -> Executor:
        return RayActorPoolExecutor(config={"object_store_gb": 0.3})
