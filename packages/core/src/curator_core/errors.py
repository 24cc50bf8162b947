"""Every error this project raises on purpose. Each says what, which one, and the way out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from curator_core.results import RunResult


class CuratorError(Exception):
    """Base of them all: catch this to catch anything Curator raises on purpose."""

    exit_code = 2


class PipelineError(CuratorError):
    """A pipeline, recipe or option is wrong. Carries every problem found, not only the first."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class PluginError(CuratorError):
    """A plugin is missing, broken or claims a name that is not its own."""


class InputError(CuratorError):
    """Input data cannot be found or read."""


class UnavailableError(InputError):
    """Input data cannot be reached now, but may be later: a server is down, a disk is gone."""


class NothingFoundError(InputError):
    """A path matches no file. Right where a pipeline may be empty, a mistake elsewhere."""


class OutputError(CuratorError):
    """Output cannot be written, or the place already holds something else."""


class ResumeError(CuratorError):
    """A run directory does not belong to this pipeline, is in use, or cannot be read."""


class RemovedInputsError(ResumeError):
    """Input files are gone whose output is still there; the run stopped before it wrote."""


class EmptyRunError(CuratorError):
    """A run had nothing to do, or gave nothing without having dropped anything."""


class ResourceError(CuratorError):
    """A stage asks for hardware that is not there."""

    exit_code = 5


class StageError(CuratorError):
    """A stage failed and its policy says that the run must not go on."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        stage: str = "",
        task_id: str = "",
        source: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.task_id = task_id
        self.source = source
        self.detail = detail

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_stage_error, (str(self), vars(self))


def _rebuild_stage_error(message: str, facts: dict[str, str]) -> StageError:
    error = StageError(message)
    vars(error).update(facts)
    return error


class BudgetError(CuratorError):
    """More failures than `max_failures` allows. What is finished is kept, and is in `result`."""

    exit_code = 4
    result: "RunResult | None" = None


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM stopped the run in order. The same command goes on where it stopped."""

    def __init__(self, message: str, signal_number: int = 2) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number
