"""Options of the Ray Data executor. Those of Ray Data keep its names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from curator_core.errors import PipelineError, hint

_LIMITED = ("cpu", "gpu", "object_store_memory", "memory")
_WHOLE = (
    "override_num_blocks",
    "target_max_block_size",
    "max_tasks_in_flight_per_actor",
    "max_sources_per_job",
)
_FLAGS = ("preserve_order", "verbose_progress")
IN_CONTEXT = ("target_max_block_size", "max_tasks_in_flight_per_actor")
"""Options that are fields of Ray Data's context, too."""

_IN_EXECUTION = ("resource_limits", *_FLAGS)


@dataclass(frozen=True)
class RayDataOptions:
    """How a run uses its cluster; the defaults suit nearly everybody."""

    override_num_blocks: int | None = None
    """Into how many blocks the sources of a job are cut: the unit that Ray Data hands out, and
    that is lost with a worker. 200 for tasks handed in, up to 2000 for files, unless given."""

    preserve_order: bool = False
    """As in Ray Data's `ExecutionOptions`."""

    target_max_block_size: int | None = None
    """Bytes at which Ray Data cuts what a call gives."""

    max_tasks_in_flight_per_actor: int | None = None
    """As in its `DataContext`."""

    resource_limits: Mapping[str, float] = field(default_factory=dict)
    """`cpu`, `gpu`, `memory`, `object_store_memory`: what the job may take of the cluster."""

    verbose_progress: bool = False
    """Show Ray Data's own progress bars. Set CURATOR_PROGRESS=0, too: a terminal has room for one
    table."""

    context: Mapping[str, Any] = field(default_factory=dict)
    """Any other field of its `DataContext`."""

    max_sources_per_job: int = 20_000
    """More sources are run as several jobs, one after the other."""

    address: str | None = None
    """The cluster that is joined, where Ray is not connected to one already."""

    object_store_gb: float | None = None
    """How large the object store of a private cluster is; Ray decides unless given."""

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
        yield from self._wrong_context()

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

    def _wrong_context(self) -> Iterator[str]:
        """What is said twice would hold once, and nobody could know which."""
        if not isinstance(self.context, Mapping):
            yield (
                f"context is {self.context!r}, but must be a mapping such as "
                '{"read_op_min_num_blocks": 5}'
            )
            return
        twice = [n for n in IN_CONTEXT if n in self.context and getattr(self, n) is not None]
        if "execution_options" in self.context:
            twice += [name for name in _IN_EXECUTION if getattr(self, name)]
        for name in twice:
            where = name if name in self.context else "execution_options"
            yield f"{name} is given, and context has {where}, too; leave one of them out"

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
