"""Policies: what happens when a stage fails, and how many failures a run tolerates."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from curator_core.model.hardware import is_out_of_memory

OnError: TypeAlias = Literal["fail", "quarantine", "skip"]

SETUP_TIMEOUT_S = 3600.0
"""Generous, because large models load slowly from slow disks, but bounded."""

ATTEMPTS_BEFORE_QUARANTINE = 2
"""Number of workers that one task may crash or hang before it is quarantined."""

_MOST = 0.5

_PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True)
class ErrorPolicy:
    """How failures of a stage are handled.

    `retries=None` retries only temporary failures: timeouts, broken connections and other I/O
    errors twice, and GPU out-of-memory errors once, because the GPU may be shared. A number retries
    every failure that often.
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
    """How many failures a run tolerates: a count (`int`), or a share of a stage (`float`).

    A share is of the tasks of one stage. It means little for a few tasks, so it applies from
    `min_seen` tasks on. If a stage saw fewer by the end of the run, more than half must have
    failed, or more than the share if that is larger. With a count, a stage that failed on
    everything still exceeds the budget.
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
        """Return whether `failed` of `seen` tasks exceed the share. False for a count."""
        share = self.max_failures
        if not isinstance(share, float):
            return False
        return (seen >= self.min_seen or share == 0) and failed > share * seen

    def is_exceeded_at_the_end(self, failed: int, seen: int) -> bool:
        """Return the same at the end of the run, when small numbers must be judged too."""
        limit = self.max_failures
        if limit is None or not failed:
            return False
        if isinstance(limit, int):
            return failed == seen
        return self.is_exceeded(failed, seen) or failed > max(limit, _MOST) * seen
