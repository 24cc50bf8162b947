"""Settings: the numbers that the policy goes by."""

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything here has been found by simulation; most runs change only the budget."""

    max_queued_bytes: int = 1024 * MB
    """All that may wait between steps, at work and expected from calls included."""

    slots_per_worker: int = 2
    """Calls under way per worker: one at work, the others' inputs already there."""

    call_s: float = 0.06
    """How much work goes into one call, where tasks are small enough."""

    max_tasks_per_call: int = 4096
    max_bytes_per_call: int = 4 * MB
    """What goes into one call, and what is expected of it: workers hold several times as much."""

    linger_s: float = 0.25
    """How long tasks wait for a batch to become full."""

    lookahead_s: float = 4.0
    """How much work at most waits in front of dedicated workers, where refilling takes long."""

    autoscale_interval_s: float = 1.0
    tick_s: float = 0.1
    hysteresis: float = 0.05
    """By how much a move of workers must pay, beyond the time they take to set up."""

    payback_s: float = 60.0
    """Over how long a move of workers is to pay for the time they take to set up."""

    shrink_limit_s: float = 600.0
    """How long a step may wait for hardware that is no longer there."""

    setup_attempts: int = 3
    deaths_alone: int = 2
    """How many workers one task may kill, run alone, before it is set aside."""

    timeout_grace_s: float = 5.0
    worker_max_lifetime_s: float = 0.0
    worker_max_tasks: int = 0
    worker_max_rss: int = 0
    worker_restart_interval_s: float = 0.0
    """At least so long between two workers that are replaced."""

    has_barriers: bool = False
    """Stage after stage: each begins when all before it is done. Bytes between them are free."""

    store_bytes: float = 0.0
    """What the object store of a node holds at most; 0 where that is not known."""

    keeps_warm: bool = False
    """Workers of their own are there before there is work, as for a caller who waits."""

    remind_s: float = 60.0
    """How often it is said that something is still waited for."""

    shared_workers_per_node: int = 0
    """At most so many shared workers on a node; 0: as many as the smallest need allows."""

    def __post_init__(self) -> None:
        for name in ("max_queued_bytes", "slots_per_worker", "max_tasks_per_call"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be 1 or more")
        for name in ("call_s", "autoscale_interval_s", "tick_s", "shrink_limit_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be more than 0")
