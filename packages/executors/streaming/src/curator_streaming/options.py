"""Options of the streaming executor. Each of them changes what it does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.errors import PipelineError
from curator_ray.configs import from_config, wrong_choice, wrong_numbers

from curator_streaming.scheduling.settings import Settings

STREAMING = "streaming"
BATCH = "batch"
_MODES = {STREAMING: "all stages at once", BATCH: "one after the other"}
_SHARE_OF_STORE = 0.5
_AT_LEAST = 64 << 20

_ABOVE_ZERO = (
    "autoscale_interval_s",
    "logging_interval",
    "slots_per_worker",
    "shrink_limit_s",
    "max_queued_bytes",
    "object_store_gb",
)
_ZERO_OR_MORE = (
    "worker_max_lifetime_m",
    "worker_max_tasks",
    "worker_max_rss_gb",
    "worker_restart_interval_m",
)
_WHOLE = ("slots_per_worker", "worker_max_tasks", "max_queued_bytes")


@dataclass(frozen=True)
class StreamingOptions:
    """How a run uses its cluster; the defaults suit nearly everybody."""

    execution_mode: str = STREAMING
    """With "batch" a stage begins when all before it are done."""

    cpu_allocation_percentage: float = 0.95
    """The share (0 to 1) of the CPUs that is used. The rest is left to others, in whole CPUs of a
    node, never the last one; on a shared cluster it is reserved with Ray."""

    autoscale_interval_s: float = 1.0
    """How often workers of their own are shared out anew."""

    logging_interval: float = 60.0
    """Seconds between lines of progress in the log."""

    ignore_failures: bool = False
    """Set failing tasks aside even where a stage says `on_error="fail"`."""

    max_queued_bytes: int | None = None
    """How much may wait between stages; half of the object store unless given."""

    slots_per_worker: int = 2
    """Calls under way per worker."""

    worker_max_lifetime_m: float = 0.0
    """Replace workers that are older; 0 keeps them."""

    worker_max_tasks: int = 0
    """Replace workers that have done so many tasks; 0 keeps them."""

    worker_max_rss_gb: float = 0.0
    """Replace workers that hold more memory; 0 keeps them."""

    worker_restart_interval_m: float = 0.0
    """At least so long between two that are replaced."""

    shrink_limit_s: float = 600.0
    """How long a stage waits for hardware that has gone, before the run fails (and can be
    resumed)."""

    address: str | None = None
    """The cluster that is joined, where Ray is not connected to one already."""

    object_store_gb: float | None = None
    """How large the object store of a private cluster is; Ray decides unless given."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise PipelineError(problems)

    def _problems(self) -> list[str]:
        found: list[str] = []
        found += wrong_choice("execution_mode", self.execution_mode, _MODES)
        found += self._wrong_kinds()
        if found:
            return found
        if not 0 < self.cpu_allocation_percentage <= 1:
            share = self.cpu_allocation_percentage
            found.append(f"cpu_allocation_percentage is {share}, but must be above 0, at most 1")
        for name in _ABOVE_ZERO:
            value = getattr(self, name)
            if value is not None and value <= 0:
                found.append(f"{name} is {value}, but must be more than 0")
        for name in _ZERO_OR_MORE:
            if getattr(self, name) < 0:
                found.append(f"{name} is {getattr(self, name)}, but must be 0 (no limit) or more")
        return found

    def _wrong_kinds(self) -> Iterator[str]:
        """What stands for another type than its default, as numbers in quotes do."""
        names = (*_ABOVE_ZERO, *_ZERO_OR_MORE, "cpu_allocation_percentage")
        yield from wrong_numbers(self, names, _WHOLE)
        if not isinstance(self.ignore_failures, bool):
            yield f"ignore_failures is {self.ignore_failures!r}, but must be True or False"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "StreamingOptions":
        return from_config(cls, config, "streaming")

    def cpus_of(self, there: float) -> float:
        """How many of a node's CPUs are used."""
        left = int(there * (1 - self.cpu_allocation_percentage) + 1e-9)
        return there if there <= 1 else max(1.0, there - left)

    @property
    def has_barriers(self) -> bool:
        return self.execution_mode == BATCH

    def settings(self, object_store_bytes: float, largest_store: float = 0.0) -> Settings:
        """What the scheduler goes by, with so much object store in all, and on its largest node."""
        room = self.max_queued_bytes or max(_AT_LEAST, int(object_store_bytes * _SHARE_OF_STORE))
        return Settings(
            max_queued_bytes=room,
            slots_per_worker=self.slots_per_worker,
            autoscale_interval_s=self.autoscale_interval_s,
            worker_max_lifetime_s=self.worker_max_lifetime_m * 60,
            worker_max_tasks=self.worker_max_tasks,
            worker_max_rss=int(self.worker_max_rss_gb * (1 << 30)),
            worker_restart_interval_s=self.worker_restart_interval_m * 60,
            shrink_limit_s=self.shrink_limit_s,
            remind_s=self.logging_interval,
            has_barriers=self.has_barriers,
            store_bytes=largest_store,
        )
