"""Collector: turns the latest pulse of every run of this process into Prometheus metrics."""

import threading
import time
from collections.abc import Iterable, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from curator_core.metrics import names
from curator_core.metrics.machines import machine_families
from curator_core.model.snapshot import Pulse, StagePulse
from curator_core.model.usage import BOUNDS, Usage

_MOST_ENDED = 16
"""Number of ended runs that are still reported."""


class Collected(Collector):
    """Counts nothing itself: figures come from pulses, and only when scraped."""

    def __init__(self) -> None:
        self._pulses: dict[str, Pulse] = {}
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
            self._pulses.pop(label, None)
            return label

    def take(self, label: str, pulse: Pulse) -> None:
        with self._lock:
            self._pulses[label] = pulse
            if pulse.status != "running":
                self._live.discard(label)
            ended = [name for name, one in self._pulses.items() if one.status != "running"]
            for name in ended[:-_MOST_ENDED]:
                del self._pulses[name]

    def collect(self) -> Iterator[Family]:
        with self._lock:
            pulses = dict(self._pulses)
            self.asked_at = [*self.asked_at[-1:], time.monotonic()]
        yield from families(pulses)
        yield from machine_families()

    def describe(self) -> Iterable[Family]:
        return ()


def families(pulses: dict[str, Pulse]) -> Iterator[Family]:
    """Yield all metrics of the runs, by label."""
    for metric in names.OF_RUNS:
        family = _family(metric, ("run",))
        for label, pulse in pulses.items():
            for values, figure in metric.read(pulse):
                family.add_metric([label, *values], figure)
        yield family
    for metric in names.OF_STAGES:
        family = _family(metric, ("run", "stage"))
        for label, pulse in pulses.items():
            for stage in pulse.stages:
                for values, figure in _samples(metric, pulse, stage):
                    family.add_metric([label, stage.name, *values], figure)
        yield family
    yield _times(pulses)


def _samples(metric: names.Metric, pulse: Pulse, stage: StagePulse) -> Iterator[names.Sample]:
    yield from metric.read(stage)
    if metric.name == "tasks":
        yield (names.QUARANTINED,), pulse.quarantined.get(stage.name, 0)


def _family(
    metric: names.Metric, labels: tuple[str, ...]
) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return kind(names.PREFIX + metric.name, metric.help, labels=[*labels, *metric.labels])


def _times(pulses: dict[str, Pulse]) -> Family:
    family = HistogramMetricFamily(
        names.PREFIX + names.TASK_SECONDS, names.TASK_SECONDS_HELP, labels=["run", "stage"]
    )
    for label, pulse in pulses.items():
        for stage in pulse.stages:
            buckets = list(_buckets(stage.usage))
            family.add_metric([label, stage.name], buckets, stage.usage.seconds)
    return family


def _buckets(usage: Usage) -> Iterator[tuple[str, float]]:
    total = 0
    for place, bound in enumerate(BOUNDS):
        total += usage.times.get(place, 0)
        yield str(bound), total
    yield "+Inf", usage.tasks
