"""The streaming executor keeps the contract."""

import pytest
from curator_core import Executor
from curator_core.testing import ExecutorContract
from curator_streaming.executor import StreamingExecutor


@pytest.mark.usefixtures("private_ray")
class TestStreaming(ExecutorContract):
    def make_executor(self) -> Executor:
        return StreamingExecutor(config={"object_store_gb": 0.3})
