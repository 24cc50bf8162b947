"""Options of the actor pool executor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.errors import PipelineError
from curator_ray.options import choice_problems, number_problems, options_from_config

ROUNDS = "rounds"
BATCH = "batch"
_MODES = {
    ROUNDS: "as many sources at a time as fit into memory",
    BATCH: "all of them at once",
}
_STORE_SHARE = 0.5
_MIN_ROUND_BYTES = 64 << 20
_ABOVE_ZERO = (
    "max_round_gb",
    "round_minutes",
    "slots_per_actor",
    "wait_limit_s",
    "stall_warning_s",
    "stall_timeout",
    "object_store_gb",
)
_ZERO_OR_MORE = ("reserved_cpus", "reserved_gpus")


@dataclass(frozen=True)
class ActorPoolOptions:
    """How a run uses its cluster; the defaults suit nearly everybody."""

    execution_mode: str = ROUNDS
    """With "batch" a stage finishes all tasks before the next stage starts; with "rounds" it
    finishes those of some sources at a time."""

    reserved_cpus: float = 0.0
    """CPUs of the cluster that are kept free of actors."""

    reserved_gpus: float = 0.0
    """GPUs of the cluster that are kept free of actors."""

    max_round_gb: float | None = None
    """How much data of a round may be stored between two stages. Default: half of the object
    store."""

    round_minutes: float = 10.0
    """About how long a round takes. No source of a round is finished before the last stage."""

    slots_per_actor: int = 2
    """Calls that an actor may have at a time."""

    wait_limit_s: float = 600.0
    """How long a stage waits for hardware that was lost. Then the run fails; it can be resumed."""

    stall_warning_s: float = 1800.0
    """Warn after this many seconds without progress, with the stacks of the workers. If they used
    no CPU, GPU or I/O either, the run fails (and can be resumed)."""

    stall_timeout: float | None = None
    """Seconds without progress after which the run fails (and can be resumed), whatever its workers
    are doing."""

    address: str | None = None
    """The cluster to join, if Ray is not connected to one already."""

    object_store_gb: float | None = None
    """Size of the object store of a private cluster. Default: Ray decides."""

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise PipelineError(problems)

    def _problems(self) -> Iterator[str]:
        yield from choice_problems("execution_mode", self.execution_mode, _MODES)
        wrong_types = list(
            number_problems(self, (*_ABOVE_ZERO, *_ZERO_OR_MORE), ("slots_per_actor",))
        )
        yield from wrong_types
        if wrong_types:
            return
        for name in _ABOVE_ZERO:
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                yield f"{name} is {getattr(self, name)}, but must be more than 0"
        for name in _ZERO_OR_MORE:
            if getattr(self, name) < 0:
                yield f"{name} is {getattr(self, name)}, but must be 0 or more"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "ActorPoolOptions":
        return options_from_config(cls, config, "actor pool")

    @property
    def is_batch(self) -> bool:
        return self.execution_mode == BATCH

    def max_round_bytes(self, store_bytes: float) -> float:
        """Return how much may be stored between two stages, given the size of all stores."""
        if self.max_round_gb is not None:
            return self.max_round_gb * 1e9
        return max(_MIN_ROUND_BYTES, store_bytes * _STORE_SHARE)
