"""Options of the Ray Data executor. Those of Ray Data keep its names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from curator_core.errors import PipelineError
from curator_core.suggestions import hint

_LIMITED = ("cpu", "gpu", "object_store_memory", "memory")
_WHOLE = (
    "override_num_blocks",
    "target_max_block_size",
    "max_tasks_in_flight_per_actor",
    "max_sources_per_job",
)
_FLAGS = ("preserve_order", "verbose_progress")


@dataclass(frozen=True)
class RayDataOptions:
    """How a run uses its cluster; the defaults suit nearly everybody.

    `override_num_blocks` says into how many blocks the sources of a job are cut; by default files
    come one or a few to a block, and tasks that were handed in in about 200 blocks.
    `preserve_order`, `target_max_block_size` (bytes) and `max_tasks_in_flight_per_actor` are Ray
    Data's; `resource_limits` (`cpu`, `gpu`, `memory`, `object_store_memory`) bounds what the job
    takes of the cluster, and `verbose_progress` shows Ray Data's own progress bars. `context` sets
    any other field of its `DataContext`. What has more sources than `max_sources_per_job` is run
    as several jobs, one after the other. `address` and `object_store_gb` say which cluster is
    joined, and how large the store of a private one is.
    """

    override_num_blocks: int | None = None
    preserve_order: bool = False
    target_max_block_size: int | None = None
    max_tasks_in_flight_per_actor: int | None = None
    resource_limits: Mapping[str, float] = field(default_factory=dict)
    verbose_progress: bool = False
    context: Mapping[str, Any] = field(default_factory=dict)
    max_sources_per_job: int = 20_000
    address: str | None = None
    object_store_gb: float | None = None

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise PipelineError(problems)

    def _problems(self) -> Iterator[str]:
        for name in _WHOLE:
            value = getattr(self, name)
            if value is None and name != "max_sources_per_job":
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                yield f"{name} is {value!r}, but must be a whole number"
            elif value <= 0:
                yield f"{name} is {value}, but must be more than 0"
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                yield f"{name} is {getattr(self, name)!r}, but must be True or False"
        if self.object_store_gb is not None and not _is_amount(self.object_store_gb):
            yield f"object_store_gb is {self.object_store_gb!r}, but must be a number above 0"
        yield from self._wrong_limits()

    def _wrong_limits(self) -> Iterator[str]:
        if not isinstance(self.resource_limits, Mapping):
            yield (
                f"resource_limits is {self.resource_limits!r}, but must be a mapping such as "
                '{"cpu": 4}'
            )
            return
        for name, amount in self.resource_limits.items():
            if name not in _LIMITED:
                yield f"resource_limits has no {name!r}{hint(name, _LIMITED)}"
            elif not _is_amount(amount):
                yield f"resource_limits: {name} is {amount!r}, but must be a number above 0"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "RayDataOptions":
        known = [one.name for one in fields(cls)]
        problems = [
            f"the Ray Data executor has no option {name!r}{hint(name, known)}"
            for name in config
            if name not in known
        ]
        if problems:
            raise PipelineError(problems)
        return cls(**config)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
