"""The checks that our own stages and executors pass, for people who write others."""

from curator_core.testing.checking import check_stage
from curator_core.testing.interpreters import (
    in_fresh_interpreter,
    modules_loaded_by,
    seconds_to_run,
)
from curator_core.testing.running import StageRun, run_stage, run_stages

__all__ = [
    "StageRun",
    "check_stage",
    "in_fresh_interpreter",
    "modules_loaded_by",
    "run_stage",
    "run_stages",
    "seconds_to_run",
]
