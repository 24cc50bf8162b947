"""Options of the streaming executor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.errors import PipelineError
from curator_ray.options import choice_problems, number_problems, options_from_config

from curator_streaming.scheduler.settings import Settings

STREAMING = "streaming"
BATCH = "batch"
_MODES = {STREAMING: "all stages at once", BATCH: "one stage after the other"}
_QUEUED_SHARE_OF_STORE = 0.5
_MIN_QUEUED_BYTES = 64 << 20

_ABOVE_ZERO = (
    "autoscale_interval_s",
    "logging_interval",
    "slots_per_worker",
    "shrink_limit_s",
    "scale_up_timeout_s",
    "stall_warning_s",
    "stall_timeout",
    "max_queued_bytes",
    "object_store_gb",
)
_ZERO_OR_MORE = (
    "worker_max_lifetime_m",
    "worker_max_tasks",
    "worker_max_rss_gb",
    "worker_max_growth",
    "worker_restart_interval_m",
    "idle_node_timeout_s",
)
_WHOLE = ("slots_per_worker", "worker_max_tasks", "max_queued_bytes")


@dataclass(frozen=True)
class StreamingOptions:
    """How a run uses its cluster. The defaults suit most runs."""

    execution_mode: str = STREAMING
    """With "batch", a stage starts when all stages before it are done."""

    cpu_allocation_percentage: float = 0.95
    """Share (0 to 1) of each node's CPUs to use, rounded up to whole CPUs and at least one. On a
    shared cluster they are reserved with Ray."""

    autoscale_interval_s: float = 1.0
    """Seconds between decisions about the number of dedicated workers per stage."""

    logging_interval: float = 60.0
    """Seconds between progress lines in the log."""

    ignore_failures: bool = False
    """Quarantine failing tasks even if a stage has `on_error="fail"`."""

    max_queued_bytes: int | None = None
    """Limit of the data that waits between stages; by default half of the object store."""

    slots_per_worker: int = 2
    """Calls sent to a worker at once: one runs, the others wait there."""

    worker_max_lifetime_m: float = 0.0
    """Replace workers after this many minutes; 0: never."""

    worker_max_tasks: int = 0
    """Replace workers after this many tasks; 0: never."""

    worker_max_rss_gb: float = 0.0
    """Replace workers that use more memory; 0: no limit."""

    worker_max_growth: float = 2.0
    """Replace a worker above 1 GB whose memory has grown to this multiple of what its stages
    normally need, at most one per stage in 10 minutes; 0: never."""

    worker_restart_interval_m: float = 0.0
    """Minutes that must pass between two replacements."""

    shrink_limit_s: float = 600.0
    """Seconds that a stage waits for hardware that has left the cluster, before the run fails (and
    can be resumed)."""

    scale_up_timeout_s: float = 1800.0
    """The same on a cluster with an autoscaler: seconds that a stage waits for a node with what it
    needs."""

    idle_node_timeout_s: float = 120.0
    """Seconds without work after which the autoscaler may remove a node during the run; 0:
    never."""

    stall_warning_s: float = 1800.0
    """Warn after this many seconds without progress, with the stacks of the workers. If they used
    no CPU, GPU or I/O either, the run fails (and can be resumed)."""

    stall_timeout: float | None = None
    """Seconds without progress after which the run fails (and can be resumed), whatever its workers
    are doing."""

    address: str | None = None
    """Address of the cluster to join, unless Ray is connected to one already."""

    object_store_gb: float | None = None
    """Size of a private cluster's object store; by default Ray decides."""

    dashboard: bool = False
    """Start a private cluster with Ray's dashboard on 127.0.0.1, and log the address of the
    cluster's dashboard. Needs `pip install 'ray[default]'`."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise PipelineError(problems)

    def _problems(self) -> list[str]:
        found: list[str] = []
        found += choice_problems("execution_mode", self.execution_mode, _MODES)
        found += self._wrong_types()
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

    def _wrong_types(self) -> Iterator[str]:
        """Yield options of the wrong type, such as a number in quotes."""
        names = (*_ABOVE_ZERO, *_ZERO_OR_MORE, "cpu_allocation_percentage")
        yield from number_problems(self, names, _WHOLE)
        for name in ("ignore_failures", "dashboard"):
            if not isinstance(value := getattr(self, name), bool):
                yield f"{name} is {value!r}, but must be True or False"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "StreamingOptions":
        return options_from_config(cls, config, "streaming")

    def usable_cpus(self, cpus: float) -> float:
        """Return how many of a node's CPUs to use."""
        left = int(cpus * (1 - self.cpu_allocation_percentage) + 1e-9)
        return cpus if cpus <= 1 else max(1.0, cpus - left)

    @property
    def has_barriers(self) -> bool:
        return self.execution_mode == BATCH

    def settings(self, object_store_bytes: float, largest_store: float = 0.0) -> Settings:
        """Return the scheduler's settings for this much object store in all, and on one node."""
        share = int(object_store_bytes * _QUEUED_SHARE_OF_STORE)
        room = self.max_queued_bytes or max(_MIN_QUEUED_BYTES, share)
        return Settings(
            max_queued_bytes=room,
            slots_per_worker=self.slots_per_worker,
            autoscale_interval_s=self.autoscale_interval_s,
            worker_max_lifetime_s=self.worker_max_lifetime_m * 60,
            worker_max_tasks=self.worker_max_tasks,
            worker_max_rss=int(self.worker_max_rss_gb * (1 << 30)),
            worker_max_growth=self.worker_max_growth,
            worker_restart_interval_s=self.worker_restart_interval_m * 60,
            shrink_limit_s=self.shrink_limit_s,
            scale_up_timeout_s=self.scale_up_timeout_s,
            idle_node_timeout_s=self.idle_node_timeout_s,
            remind_s=self.logging_interval,
            has_barriers=self.has_barriers,
            store_bytes=largest_store,
        )
