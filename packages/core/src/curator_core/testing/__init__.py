"""Testing kit: the checks that Curator's own stages and executors pass, for yours.

Only `ExecutorContract` requires pytest, so it is imported on access.
"""

from typing import TYPE_CHECKING, Any

from curator_core.execution.run_stages import StageRun, run_stage, run_stages
from curator_core.testing.interpreter import (
    in_fresh_interpreter,
    modules_loaded_by,
    seconds_to_run,
)
from curator_core.testing.stage_checks import check_stage

if TYPE_CHECKING:
    from curator_core.testing.executor_contract import ExecutorContract

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
    from curator_core.testing.executor_contract import ExecutorContract

    return ExecutorContract
