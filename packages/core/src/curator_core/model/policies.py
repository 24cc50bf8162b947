"""Policies: what happens when a stage fails, and how much a run tolerates."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from curator_core.model.gpu_memory import is_out_of_memory

OnError: TypeAlias = Literal["fail", "quarantine", "skip"]

SETUP_TIMEOUT_S = 3600.0
"""Large models are loaded from slow disks; for ever is no answer either."""

ATTEMPTS_BEFORE_QUARANTINE = 2
"""How many workers one task may kill or hang before it is set aside."""

_MOST = 0.5

_PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True)
class ErrorPolicy:
    """What a stage's failures cost.

    `retries=None` repeats only what may pass by itself (time-outs, broken connections and other
    input/output errors), twice, and what found no room on a GPU, once: others may share it. A
    number repeats any failure that often.
    """

    on_error: OnError = "quarantine"
    retries: int | None = None
    timeout_s: float | None = None
    backoff_s: float = 0.1
    setup_timeout_s: float | None = SETUP_TIMEOUT_S

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise ValueError(
                f"on_error is {self.on_error!r}, but must be one of {', '.join(get_args(OnError))}"
            )
        if self.retries is not None and self.retries < 0:
            raise ValueError(f"retries is {self.retries}, but must be 0 or more")
        for name in ("timeout_s", "setup_timeout_s"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ValueError(f"{name} is {limit}, but must be more than 0")

    def retries_for(self, error: Exception) -> int:
        if self.retries is not None:
            return self.retries
        if is_out_of_memory(error):
            return 1
        passing = isinstance(error, OSError) and not isinstance(error, _PERMANENT)
        return 2 if passing else 0


@dataclass(frozen=True)
class FailureBudget:
    """How many failures a run bears: a count (`int`), or a share of one stage's tasks (`float`).

    A share says little about a few tasks. So it holds from `min_seen` tasks on; where a stage saw
    less by the end of the run, more than half must have failed, or more than the share if that is
    larger. A count does not excuse a stage that failed on everything.
    """

    max_failures: int | float | None = 0.1
    min_seen: int = 100

    def __post_init__(self) -> None:
        if not self._is_sound:
            raise ValueError(
                f"max_failures is {self.max_failures!r}, but must be a count (0, 1, 2, …) or a "
                "share (0.0 to 1.0)"
            )

    @property
    def _is_sound(self) -> bool:
        limit = self.max_failures
        if limit is None:
            return True
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        return is_number and limit >= 0 and not (isinstance(limit, float) and limit > 1)

    def is_exceeded(self, failed: int, seen: int) -> bool:
        """Whether `failed` of `seen` are too many, where the budget is a share."""
        share = self.max_failures
        if not isinstance(share, float):
            return False
        return (seen >= self.min_seen or share == 0) and failed > share * seen

    def is_exceeded_at_the_end(self, failed: int, seen: int) -> bool:
        """The same once nothing more is to come, where small numbers have to be judged too."""
        limit = self.max_failures
        if limit is None or not failed:
            return False
        if isinstance(limit, int):
            return failed == seen
        return self.is_exceeded(failed, seen) or failed > max(limit, _MOST) * seen
