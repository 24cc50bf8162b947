"""The local executor keeps the contract in both of its modes."""

from curator_core import Executor
from curator_core.local.executor import LocalExecutor
from curator_core.testing import ExecutorContract


class TestInProcess(ExecutorContract):
    def make_executor(self) -> Executor:
        return LocalExecutor(workers=0)


class TestProcesses(ExecutorContract):
    def make_executor(self) -> Executor:
        return LocalExecutor(workers=2)
