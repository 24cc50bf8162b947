"""Counting: how far a run is at one moment, and how fast it got there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from curator_core.results import StageCounts

if TYPE_CHECKING:
    from curator_core.runs.running import Run

WINDOW_S = 30.0
"""Rates are those of the last half minute."""

_APART_S = 0.5


@dataclass(frozen=True)
class StageProgress:
    """One stage at one moment. `waiting` is how many tasks stand before it.

    What `writes` takes records and gives files.
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
        """How long it may still take, where that can be told."""
        if self.total is None or self.rate <= 0:
            return None
        return (self.total - self.done) / self.rate


@dataclass(frozen=True)
class _Sample:
    time: float
    finished: int
    items: dict[int, int]


class Meter:
    """Looks at a run now and then, and tells rates from what it saw before."""

    def __init__(self, run: Run, now: float) -> None:
        self._started = now
        self._samples: deque[_Sample] = deque([_sample(run, _counts(run), now)])

    def read(self, run: Run, now: float) -> Progress:
        counts = _counts(run)
        self._remember(_sample(run, counts, now))
        result = run.result
        done = result.sources_done + result.sources_skipped
        left = run.sources_left
        return Progress(
            name=run.plan.name,
            seconds=now - self._started,
            done=done,
            open=run.open_sources,
            total=None if left is None else done + run.open_sources + left,
            rate=self._rate(lambda sample: sample.finished),
            is_stopping=run.stopping.is_asked,
            restarts=sum(result.worker_restarts.values()),
            stages=self._stages(run, counts),
        )

    def _stages(self, run: Run, counts: dict[int, StageCounts]) -> list[StageProgress]:
        planned = run.worker_stages
        waiting = {
            after.index: max(0, counts[before.index].tasks_out - counts[after.index].tasks_in)
            for before, after in pairwise(planned)
        }
        return [
            StageProgress(
                stage.name,
                counts[stage.index],
                self._rate(lambda sample, index=stage.index: sample.items[index]),
                waiting.get(stage.index, 0),
                stage.stage.writes,
            )
            for stage in planned
        ]

    def _remember(self, sample: _Sample) -> None:
        samples = self._samples
        if len(samples) > 1 and sample.time - samples[-2].time < _APART_S:
            samples.pop()
        samples.append(sample)
        while len(samples) > 2 and sample.time - samples[1].time > WINDOW_S:
            samples.popleft()

    def _rate(self, figure: Callable[..., int]) -> float:
        first, last = self._samples[0], self._samples[-1]
        elapsed = last.time - first.time
        return max(0, figure(last) - figure(first)) / elapsed if elapsed > 0 else 0.0


def _counts(run: Run) -> dict[int, StageCounts]:
    """What is finished, and what workers have in hand."""
    counts: dict[int, StageCounts] = {}
    for index, finished in run.totals.items():
        counts[index] = StageCounts()
        counts[index].add(finished)
    for in_hand in run.under_way.values():
        for index, more in in_hand.items():
            counts[index].add(more)
    return counts


def _sample(run: Run, counts: dict[int, StageCounts], now: float) -> _Sample:
    items = {index: found.items_in for index, found in counts.items()}
    return _Sample(now, run.result.sources_done, items)
