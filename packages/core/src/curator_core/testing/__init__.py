"""Testing kit: the checks that Curator's own stages and executors pass, for yours.

Only `ExecutorContract` requires pytest, so it is imported on access.
"""

from typing import TYPE_CHECKING, Any

from curator_core.execution.direct import StageRun, run_stage, run_stages
from curator_core.testing.checking import check_stage
from curator_core.testing.interpreters import (
    in_fresh_interpreter,
    modules_loaded_by,
    seconds_to_run,
)

if TYPE_CHECKING:
    from curator_core.testing.contracts import ExecutorContract

__all__ = [
    "ExecutorContract",
    "StageRun",
    "check_stage",
    "in_fresh_interpreter",
    "modules_loaded_by",
    "run_stage",
    "run_stages",
    "seconds_to_run",
]


def __getattr__(name: str) -> Any:
    if name != "ExecutorContract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from curator_core.testing.contracts import ExecutorContract

    return ExecutorContract
