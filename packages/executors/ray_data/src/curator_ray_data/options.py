"""Options of the Ray Data executor. Those of Ray Data keep its names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from curator_core.errors import PipelineError, hint
from curator_ray.options import number_problems, options_from_config

IN_CONTEXT = ("target_max_block_size", "max_tasks_in_flight_per_actor")
"""Options that are fields of Ray Data's context, too."""

_LIMITS = ("cpu", "gpu", "object_store_memory", "memory")
_WHOLE_NUMBERS = ("override_num_blocks", "max_sources_per_job", *IN_CONTEXT)
_NUMBERS = (*_WHOLE_NUMBERS, "stall_warning_s", "stall_timeout", "object_store_gb")
_REQUIRED = ("max_sources_per_job", "stall_warning_s")
_FLAGS = ("preserve_order", "verbose_progress")
_IN_EXECUTION_OPTIONS = ("resource_limits", *_FLAGS)


@dataclass(frozen=True)
class RayDataOptions:
    """How a run uses its cluster. The defaults suit most runs."""

    override_num_blocks: int | None = None
    """Number of blocks per job. Ray Data schedules whole blocks, and rerunning after a crash
    repeats whole blocks. Default: up to 200 for tasks that are passed in, up to 2000 for files."""

    preserve_order: bool = False
    """As in Ray Data's `ExecutionOptions`."""

    target_max_block_size: int | None = None
    """Bytes at which Ray Data splits the output of a call."""

    max_tasks_in_flight_per_actor: int | None = None
    """As in Ray Data's `DataContext`."""

    resource_limits: Mapping[str, float] = field(default_factory=dict)
    """What the job may use of the cluster: `cpu`, `gpu`, `memory`, `object_store_memory`."""

    verbose_progress: bool = False
    """Show Ray Data's own progress bars and log. Also set CURATOR_PROGRESS=0: a terminal has room
    for one table."""

    context: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of Ray Data's `DataContext`."""

    max_sources_per_job: int = 20_000
    """More sources run as several jobs, one after the other."""

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
        wrong_types = list(number_problems(self, _NUMBERS, _WHOLE_NUMBERS))
        yield from wrong_types
        for name in _REQUIRED:
            if getattr(self, name) is None:
                yield f"{name} is None, but must be a number"
        if not wrong_types:
            for name in _NUMBERS:
                value = getattr(self, name)
                if value is not None and value <= 0:
                    yield f"{name} is {value}, but must be more than 0"
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                yield f"{name} is {getattr(self, name)!r}, but must be True or False"
        yield from self._limit_problems()
        yield from self._context_problems()

    def _limit_problems(self) -> Iterator[str]:
        if not isinstance(self.resource_limits, Mapping):
            yield (
                f"resource_limits is {self.resource_limits!r}, but must be a mapping such as "
                '{"cpu": 4}'
            )
            return
        for name, amount in self.resource_limits.items():
            if name not in _LIMITS:
                yield f"resource_limits has no {name!r}{hint(name, _LIMITS)}"
            elif isinstance(amount, bool) or not isinstance(amount, int | float) or amount <= 0:
                yield f"resource_limits: {name} is {amount!r}, but must be a number above 0"

    def _context_problems(self) -> Iterator[str]:
        """Yield problems of `context`: wrong type, or an option given twice."""
        if not isinstance(self.context, Mapping):
            yield (
                f"context is {self.context!r}, but must be a mapping such as "
                '{"read_op_min_num_blocks": 5}'
            )
            return
        twice = [n for n in IN_CONTEXT if n in self.context and getattr(self, n) is not None]
        if "execution_options" in self.context:
            twice += [name for name in _IN_EXECUTION_OPTIONS if getattr(self, name)]
        for name in twice:
            where = name if name in self.context else "execution_options"
            yield f"{name} is given, and context has {where}, too; leave one of them out"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "RayDataOptions":
        return options_from_config(cls, config, "Ray Data")
