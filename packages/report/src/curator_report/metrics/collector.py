"""Collector: turns the latest snapshot of every run of this process into Prometheus metrics."""

import threading
import time
from collections.abc import Iterable, Iterator

from curator_core.model.snapshot import RunSnapshot, StageSnapshot
from curator_core.model.usage import BOUNDS, Usage
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from curator_report.metrics import names

_MOST_ENDED = 16
"""Number of ended runs that are still reported."""


class Collected(Collector):
    """Counts nothing itself: figures come from snapshots, and only when scraped."""

    def __init__(self) -> None:
        self._snapshots: dict[str, RunSnapshot] = {}
        self._live: set[str] = set()
        self._lock = threading.Lock()
        self.asked_at: list[float] = []
        """Times of the last two scrapes at most."""

    def label_for(self, name: str) -> str:
        """Return a unique label for a new run: another one of the same name may be running."""
        with self._lock:
            label, number = name, 2
            while label in self._live:
                label, number = f"{name}-{number}", number + 1
            self._live.add(label)
            self._snapshots.pop(label, None)
            return label

    def take(self, label: str, snapshot: RunSnapshot) -> None:
        with self._lock:
            self._snapshots[label] = snapshot
            if snapshot.status != "running":
                self._live.discard(label)
            ended = [name for name, one in self._snapshots.items() if one.status != "running"]
            for name in ended[:-_MOST_ENDED]:
                del self._snapshots[name]

    def collect(self) -> Iterator[Family]:
        with self._lock:
            snapshots = dict(self._snapshots)
            self.asked_at = [*self.asked_at[-1:], time.monotonic()]
        yield from families(snapshots)

    def describe(self) -> Iterable[Family]:
        return ()


def families(snapshots: dict[str, RunSnapshot]) -> Iterator[Family]:
    """Yield all metrics of the runs, by label."""
    for metric in names.OF_RUNS:
        family = _family(metric, ("run",))
        for label, snapshot in snapshots.items():
            for values, figure in metric.read(snapshot):
                family.add_metric([label, *values], figure)
        yield family
    for metric in names.OF_STAGES:
        family = _family(metric, ("run", "stage"))
        for label, snapshot in snapshots.items():
            for stage in snapshot.stages:
                for values, figure in _samples(metric, snapshot, stage):
                    family.add_metric([label, stage.name, *values], figure)
        yield family
    yield _times(snapshots)


def _samples(
    metric: names.Metric, snapshot: RunSnapshot, stage: StageSnapshot
) -> Iterator[names.Sample]:
    yield from metric.read(stage)
    if metric.name == "tasks":
        yield (names.QUARANTINED,), snapshot.quarantined.get(stage.name, 0)


def _family(
    metric: names.Metric, labels: tuple[str, ...]
) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return kind(names.PREFIX + metric.name, metric.help, labels=[*labels, *metric.labels])


def _times(snapshots: dict[str, RunSnapshot]) -> Family:
    family = HistogramMetricFamily(
        names.PREFIX + names.TASK_SECONDS, names.TASK_SECONDS_HELP, labels=["run", "stage"]
    )
    for label, snapshot in snapshots.items():
        for stage in snapshot.stages:
            buckets = list(_buckets(stage.usage))
            family.add_metric([label, stage.name], buckets, stage.usage.seconds)
    return family


def _buckets(usage: Usage) -> Iterator[tuple[str, float]]:
    total = 0
    for place, bound in enumerate(BOUNDS):
        total += usage.times.get(place, 0)
        yield str(bound), total
    yield "+Inf", usage.tasks
