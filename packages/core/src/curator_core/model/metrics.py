"""Metrics: numbers that stages log about their own work, in summaries that merge."""

import math
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

MOST_NAMES = 100
"""Names per stage: each is stored with every source and shown in every report."""

_NAME = re.compile(r"[A-Za-z0-9_]+")
_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """Count, sum, minimum and maximum of the values of one metric."""

    count: int
    sum: float
    min: float
    max: float

    @classmethod
    def of(cls, value: float) -> Self:
        return cls(1, value, value, value)

    @property
    def mean(self) -> float:
        return self.sum / self.count

    def plus(self, other: "MetricSummary") -> "MetricSummary":
        total = min(max(self.sum + other.sum, -_LARGEST), _LARGEST)  # JSON has no infinity
        return MetricSummary(
            self.count + other.count, total, min(self.min, other.min), max(self.max, other.max)
        )

    def to_json(self) -> list[float]:
        return [self.count, self.sum, self.min, self.max]


Metrics = Mapping[str, MetricSummary]

NO_METRICS: Metrics = {}
"""Shared by all counts without metrics: a run holds many, and dicts slow garbage collection."""


def merge_metrics(some: Metrics, more: Metrics) -> Metrics:
    if not some or not more:
        return some or more
    total = dict(some)
    for name, summary in more.items():
        total[name] = total[name].plus(summary) if name in total else summary
    return total


def check_metrics(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the values as floats. Raise unless names and values can be metrics."""
    checked = {}
    for name, value in values.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"metric {name!r}: a name consists of letters, digits and _")
        if not isinstance(value, Real):
            raise TypeError(
                f"metric {name!r} is a {type(value).__name__}, but must be a number; "
                "arrays and tensors of one value have item()"
            )
        checked[name] = _finite(name, value)
    return checked


def _finite(name: str, value: Real) -> float:
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 300 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"metric {name!r} is {number}, but must be finite")
    return number


class MetricsRecorder:
    """Collects what one stage logs in one worker, until it is counted with a task."""

    def __init__(self, stage: str) -> None:
        self.is_open = False
        """Whether the stage may log now: there is a task to count it with."""
        self._stage = stage
        self._names: set[str] = set()
        self.logged = NO_METRICS

    def add(self, values: Mapping[str, Any]) -> None:
        if not self.is_open:
            raise RuntimeError(
                f"stage {self._stage!r} logged metrics outside of process and process_batch; "
                "metrics are counted with a task, so log them there"
            )
        logged = {name: MetricSummary.of(value) for name, value in check_metrics(values).items()}
        with _LOCK:
            self._check_names(logged)
            self.logged = merge_metrics(self.logged, logged)

    def _check_names(self, logged: Metrics) -> None:
        if logged.keys() <= self._names:
            return
        if len(names := self._names | logged.keys()) > MOST_NAMES:
            raise ValueError(
                f"stage {self._stage!r} logged more than {MOST_NAMES} metrics, the last named "
                f"{list(logged)[-1]!r}; names must not come from data"
            )
        self._names = names

    def take(self) -> Metrics:
        """Return what was logged since the last call of this method."""
        with _LOCK:
            logged, self.logged = self.logged, NO_METRICS
        return logged


_LOCK = threading.Lock()
"""Stages may log from several threads. Not in the recorder, because stages are pickled."""
