"""Options of the actor pool executor. Each of them changes what it does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.errors import PipelineError
from curator_ray.configs import from_config, wrong_choice, wrong_numbers

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
    """How a run uses its cluster; the defaults suit nearly everybody.

    In the `execution_mode` "batch" no stage begins before all that there is has passed the one
    before; with "rounds" that holds for some sources at a time. A round takes as many as leave at
    most `max_round_gb` between two stages (by default half of the object store), and about
    `round_minutes`: nothing of it is finished before its last stage. `reserved_cpus` and
    `reserved_gpus` of the cluster are kept free of actors. An actor has up to `slots_per_actor`
    calls under way. `wait_limit_s` says how long a stage may wait for hardware that went away.
    `address` and `object_store_gb` say which cluster is joined, and how large the store of a
    private one is.
    """

    execution_mode: str = ROUNDS
    reserved_cpus: float = 0.0
    reserved_gpus: float = 0.0
    max_round_gb: float | None = None
    round_minutes: float = 10.0
    slots_per_actor: int = 2
    wait_limit_s: float = 600.0
    address: str | None = None
    object_store_gb: float | None = None

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise PipelineError(problems)

    def _problems(self) -> Iterator[str]:
        yield from wrong_choice("execution_mode", self.execution_mode, _MODES)
        wrong = list(wrong_numbers(self, (*_ABOVE_ZERO, *_ZERO_OR_MORE), ("slots_per_actor",)))
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
        return from_config(cls, config, "actor pool")

    @property
    def is_batch(self) -> bool:
        return self.execution_mode == BATCH

    def round_bytes(self, store_bytes: float) -> float:
        """What may wait between two stages, with so much object store on all nodes."""
        if self.max_round_gb is not None:
            return self.max_round_gb * 1e9
        return max(_AT_LEAST, store_bytes * _SHARE_OF_STORE)
