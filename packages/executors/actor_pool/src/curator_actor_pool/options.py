"""Options of the actor pool executor. Each of them changes what it does."""

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
_SHARE_OF_STORE = 0.5
_AT_LEAST = 64 << 20
_ABOVE_ZERO = (
    "max_round_gb",
    "round_minutes",
    "slots_per_actor",
    "wait_limit_s",
    "object_store_gb",
)
_ZERO_OR_MORE = ("reserved_cpus", "reserved_gpus")


@dataclass(frozen=True)
class ActorPoolOptions:
    """How a run uses its cluster; the defaults suit nearly everybody."""

    execution_mode: str = ROUNDS
    """With "batch" all there is passes a stage before the next one begins; with "rounds" some
    sources at a time do."""

    reserved_cpus: float = 0.0
    """So many CPUs of the cluster are kept free of actors."""

    reserved_gpus: float = 0.0
    """So many of its GPUs."""

    max_round_gb: float | None = None
    """How much of a round may lie between two stages; half of the object store unless given."""

    round_minutes: float = 10.0
    """About how long a round takes: nothing of it is finished before its last stage."""

    slots_per_actor: int = 2
    """Calls under way per actor."""

    wait_limit_s: float = 600.0
    """How long a stage waits for hardware that has gone, before the run fails (and can be
    resumed)."""

    address: str | None = None
    """The cluster that is joined, where Ray is not connected to one already."""

    object_store_gb: float | None = None
    """How large the object store of a private cluster is; Ray decides unless given."""

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise PipelineError(problems)

    def _problems(self) -> Iterator[str]:
        yield from choice_problems("execution_mode", self.execution_mode, _MODES)
        wrong = list(number_problems(self, (*_ABOVE_ZERO, *_ZERO_OR_MORE), ("slots_per_actor",)))
        yield from wrong
        if wrong:
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

    def round_bytes(self, store_bytes: float) -> float:
        """What may wait between two stages, with so much object store on all nodes."""
        if self.max_round_gb is not None:
            return self.max_round_gb * 1e9
        return max(_AT_LEAST, store_bytes * _SHARE_OF_STORE)
