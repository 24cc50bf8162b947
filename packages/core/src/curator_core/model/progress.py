"""Progress at one moment, and rates computed from earlier moments."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from curator_core.model.records import StageCounts
from curator_core.model.snapshot import RunSnapshot

WINDOW_S = 30.0
"""Rates are averages over this many seconds."""

_APART_S = 0.5


@dataclass(frozen=True)
class StageProgress:
    """One stage at one moment. `waiting` is the number of tasks in its queue.

    A stage that `writes` takes records and returns files.
    """

    name: str
    counts: StageCounts
    rate: float = 0.0
    waiting: int = 0
    writes: bool = False


@dataclass(frozen=True)
class Progress:
    """A run at one moment. `total` is known once all sources are listed."""

    name: str
    seconds: float
    done: int
    open: int
    total: int | None = None
    rate: float = 0.0
    restarts: int = 0
    is_stopping: bool = False
    stages: list[StageProgress] = field(default_factory=list)

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated remaining time, or None if it is unknown."""
        if self.total is None or self.rate <= 0:
            return None
        return (self.total - self.done) / self.rate


@dataclass(frozen=True)
class _Sample:
    time: float
    finished: int
    items: dict[int, int]


class Meter:
    """Turns the snapshots of a run into progress, with rates from earlier snapshots."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def read(self, snapshot: RunSnapshot) -> Progress:
        self._remember(_sample(snapshot))
        done = snapshot.done + snapshot.skipped
        return Progress(
            name=snapshot.name,
            seconds=snapshot.seconds,
            done=done,
            open=snapshot.open,
            total=None if snapshot.left is None else done + snapshot.open + snapshot.left,
            rate=self._rate(lambda sample: sample.finished),
            is_stopping=snapshot.is_stopping,
            restarts=sum(snapshot.restarts.values()),
            stages=[
                StageProgress(
                    stage.name,
                    stage.counts,
                    self._rate_of(stage.index),
                    stage.queue.tasks,
                    stage.writes,
                )
                for stage in snapshot.stages
            ],
        )

    def _remember(self, sample: _Sample) -> None:
        samples = self._samples
        if len(samples) > 1 and sample.time - samples[-2].time < _APART_S:
            samples.pop()
        samples.append(sample)
        while len(samples) > 2 and sample.time - samples[1].time > WINDOW_S:
            samples.popleft()

    def _rate_of(self, stage_index: int) -> float:
        return self._rate(lambda sample: sample.items.get(stage_index, 0))

    def _rate(self, figure: Callable[[_Sample], int]) -> float:
        first, last = self._samples[0], self._samples[-1]
        elapsed = last.time - first.time
        return max(0, figure(last) - figure(first)) / elapsed if elapsed > 0 else 0.0


def _sample(snapshot: RunSnapshot) -> _Sample:
    items = {stage.index: stage.counts.items_received for stage in snapshot.stages}
    return _Sample(snapshot.seconds, snapshot.done, items)
