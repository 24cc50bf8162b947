"""Stations: steps at work, with what waits for them and what has been learned about them."""

from math import sqrt

from curator_streaming.scheduling.parcels import Parcel
from curator_streaming.scheduling.queues import StepQueue
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.scheduling.workers import Crew

_ENOUGH_CALLS = 8
CHEAP_SETUP_S = 0.1

_TELLING_S = 0.02
"""A first call of less than this is mostly about being the first."""

_LONG_S = 3.0
"""A first call may be setting up for so long, which it tells only when it ends."""


class Measured:
    """Seconds per task: followed slowly while steady, and at once when it has jumped."""

    __slots__ = ("calls", "error", "per_task", "seconds", "squares", "tasks")

    def __init__(self) -> None:
        self.per_task: float | None = None
        self.error = 0.0
        """The relative standard error of `per_task`."""

        self._reset()

    def _reset(self) -> None:
        self.calls = self.tasks = 0
        self.seconds = self.squares = 0.0

    def add(self, tasks: int, seconds: float) -> None:
        self.calls += 1
        self.tasks += tasks
        self.seconds += seconds
        self.squares += seconds * seconds / tasks

    def settle(self) -> None:
        """Look at what was added since it was settled last, where that is enough."""
        if self.calls < (_ENOUGH_CALLS if self.per_task is not None else 1) or not self.tasks:
            return
        mean = self.seconds / self.tasks
        spread = max(self.squares / self.tasks - mean * mean, 0.0)
        error = sqrt(spread / self.calls) / mean if mean else 0.0
        old = self.per_task
        if old is None or abs(mean - old) > 3 * max(error, 0.05) * max(mean, old):
            self.per_task, self.error = mean, error
        else:
            weight = 0.3
            self.per_task = old + weight * (mean - old)
            self.error = sqrt((1 - weight) ** 2 * self.error**2 + weight**2 * error**2)
        self._reset()


class Station:
    """One step of the line while a run goes on."""

    __slots__ = (
        "all_setups_s", "bit", "busy_s", "calls", "coming", "cost", "crew", "done", "failed_setups",
        "flush", "given", "lacks_since", "measured", "memory", "most_per_call",
        "most_waiting", "out_bytes", "queue", "said_large", "setting_up", "setup_s", "spec",
        "stage_seconds", "target", "waiting_since", "warm",
    )  # fmt: skip

    def __init__(self, spec: StepSpec, crew: Crew) -> None:
        self.spec = spec
        self.crew = crew
        self.bit = 1 << spec.first
        self.queue = StepQueue()
        self.calls = 0
        self.coming = 0.0
        """Tasks that calls of the step before will probably give."""

        self.most_waiting = 1 << 60
        """More tasks than this need not wait here."""

        self.most_per_call = 8
        self.cost: float | None = None
        self.measured = Measured()
        self.out_bytes: float | None = None
        self.memory = spec.need.memory
        self.setup_s: float | None = None
        self.all_setups_s = 0.0
        self.setting_up = 0
        self.warm = 0
        self.failed_setups = 0
        self.target = 0
        self.done = self.given = 0
        self.busy_s = 0.0
        self.stage_seconds: dict[int, float] = {}
        self.waiting_since = 0.0
        self.lacks_since: float | None = None
        self.flush = self.said_large = False

    @property
    def ratio(self) -> float:
        """How many tasks it makes of one."""
        return self.given / self.done if self.done else 1.0

    def trusted_cost(self, now: float) -> float:
        """Seconds per task; none while what was seen of it is too little to start workers for.

        Before a first call has ended, how long the last one has been at it says enough.
        """
        if self.cost is None and self.calls:
            at_it = now - self.waiting_since - (self.setup_s or 0.0)
            return at_it if at_it > _LONG_S else 0.0
        return self.cost or 0.0 if self.busy_s >= _TELLING_S else 0.0

    @property
    def tells_at(self) -> float | None:
        """When its first calls, if they have not ended by then, are known to take their time."""
        return self.waiting_since + _TELLING_S if self.cost is None and self.calls else None

    def takes_time(self, now: float) -> bool:
        """Whether the first calls are still at it."""
        at = self.tells_at
        return at is not None and now >= at

    @property
    def takes_turns(self) -> bool:
        """Whether its workers may be more than the CPUs: so many were asked for."""
        return self.spec.num_workers is not None and not self.spec.need.is_special

    @property
    def has_work(self) -> bool:
        return self.queue.tasks > 0 or self.calls > 0

    def learn(self, tasks: int, seconds: float, given: int, size: int) -> None:
        """What a call that ended tells about the next one."""
        per_task, out = seconds / tasks, size / tasks
        self.cost = per_task if self.cost is None else 0.7 * self.cost + 0.3 * per_task
        self.out_bytes = out if self.out_bytes is None else 0.7 * self.out_bytes + 0.3 * out
        self.most_per_call = max(self.most_per_call, 8 * tasks)
        self.measured.add(tasks, seconds)
        self.done += tasks
        self.given += given
        self.busy_s += seconds

    def excess_of(self, parcel: Parcel, store_bytes: float) -> str | None:
        """What is to be said of an output larger than the store of a node, when it is the first."""
        if self.said_large or not store_bytes or parcel.size <= store_bytes:
            return None
        self.said_large = True
        return (
            f"{self.spec.name} gave {parcel.tasks} task{'s' * (parcel.tasks != 1)} of "
            f"{parcel.size / 1e9:.1f} GB together, more than the object store of a node "
            f"({store_bytes / 1e9:.1f} GB): they go by way of the disk, which is slow; give "
            "smaller tasks, or make the store larger (object_store_gb)"
        )
