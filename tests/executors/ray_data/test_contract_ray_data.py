"""The Ray Data executor keeps the contract."""

import pytest
from curator_core import Executor
from curator_core.testing import ExecutorContract
from curator_ray_data.executor import RayDataExecutor


@pytest.mark.usefixtures("private_ray")
class TestRayData(ExecutorContract):
    def make_executor(self) -> Executor:
        return RayDataExecutor(config={"object_store_gb": 0.3})
