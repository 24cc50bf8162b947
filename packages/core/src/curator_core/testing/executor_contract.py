"""Executor contract: the tests that every executor must pass. Needs pytest."""

import pytest

# Only modules with assertions: other tests may have imported the stages already.
pytest.register_assert_rewrite(
    *(
        f"curator_core.testing.contract.{part}"
        for part in ("failures", "lifetimes", "results", "resuming", "serving", "streaming")
    )
)

from curator_core.testing.contract.failures import FailuresContract  # noqa: E402 - rewritten first
from curator_core.testing.contract.lifetimes import LifetimesContract  # noqa: E402
from curator_core.testing.contract.results import ResultsContract  # noqa: E402
from curator_core.testing.contract.resuming import ResumingContract  # noqa: E402
from curator_core.testing.contract.serving import ServingContract  # noqa: E402
from curator_core.testing.contract.streaming import StreamingContract  # noqa: E402


class ExecutorContract(
    ResultsContract,
    FailuresContract,
    LifetimesContract,
    ResumingContract,
    StreamingContract,
    ServingContract,
):
    """Tests of everything an executor promises. Subclass it in a class named `Test...`:

    class TestMine(ExecutorContract):
        def make_executor(self) -> Executor:
            return MyExecutor()
    """
