"""Limits and intervals of the scheduler."""

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Values found by simulation; most runs change only the byte budget."""

    max_queued_bytes: int = 1024 * MB
    """Bytes that may wait between steps, including those that running calls read and will write."""

    slots_per_worker: int = 2
    """Calls per worker: one runs while the inputs of the others are fetched."""

    min_call_s: float = 0.06
    """The least work per call, if tasks are small enough. It grows with the number of workers."""

    max_call_s: float = 15.0
    driver_call_s: float = 0.001
    """What a call costs the driving thread, roughly."""

    max_driver_load: float = 0.35
    """The share of its time that the driving thread should spend on calls; tasks come on top."""

    max_tasks_per_call: int = 4096
    max_bytes_per_call: int = 4 * MB
    """Limit for the inputs and the expected outputs of a call. Workers hold a few times as much.

    Calls that grow because the driver is busy may have four times as many.
    """

    linger_s: float = 0.25
    """How long tasks wait for a full batch."""

    lookahead_s: float = 4.0
    """The most work to queue in front of dedicated workers if refilling takes long."""

    autoscale_interval_s: float = 1.0
    tick_s: float = 0.1
    hysteresis: float = 0.05
    """The gain that moving workers must bring, in addition to their setup time."""

    payback_s: float = 60.0
    """The time within which moving workers must pay for their setup."""

    shrink_limit_s: float = 600.0
    """How long a step may wait for resources that left the cluster."""

    is_autoscaled: bool = False
    """Whether nodes are started and removed as they are needed."""

    scale_up_timeout_s: float = 1800.0
    """How long a step may wait for resources that an autoscaler should bring."""

    idle_node_timeout_s: float = 120.0
    """After how long without work an autoscaler may remove a node; 0: never during the run."""

    setup_attempts: int = 3
    max_task_deaths: int = 2
    """How many workers a task may kill when run alone, before it is quarantined."""

    timeout_grace_s: float = 5.0
    worker_max_lifetime_s: float = 0.0
    worker_max_tasks: int = 0
    worker_max_rss: int = 0
    worker_max_growth: float = 2.0
    """Replace workers that need this many times their normal memory; 0: never."""

    worker_restart_interval_s: float = 0.0
    """The shortest time between two workers that are recycled."""

    has_barriers: bool = False
    """Run stage after stage: each begins when all before it are done, with any number of bytes."""

    store_bytes: float = 0.0
    """Size of the largest object store of a node; 0 if unknown."""

    keeps_warm: bool = False
    """Start dedicated workers before there is work, for callers who wait for an answer."""

    remind_s: float = 60.0
    """How often to repeat that a step waits for resources."""

    shared_workers_per_node: int = 0
    """Limit of shared workers on a node; 0: as many as the smallest need allows."""

    def __post_init__(self) -> None:
        for name in ("max_queued_bytes", "slots_per_worker", "max_tasks_per_call"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be 1 or more")
        times = ("min_call_s", "max_call_s", "autoscale_interval_s", "tick_s", "shrink_limit_s")
        for name in (*times, "scale_up_timeout_s", "driver_call_s", "max_driver_load"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be more than 0")
