"""The actor pool executor keeps the contract."""

import pytest
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Executor
from curator_core.testing import ExecutorContract


@pytest.mark.usefixtures("private_ray")
class TestActorPool(ExecutorContract):
    def make_executor(self) -> Executor:
        return RayActorPoolExecutor(config={"object_store_gb": 0.3})
