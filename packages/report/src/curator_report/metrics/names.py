"""Names of all metrics, their meaning, and how to read them from a snapshot."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from curator_core.model.node_usage import GpuUsage
from curator_core.model.snapshot import RunSnapshot, StageSnapshot

PREFIX = "curator_"
Sample: TypeAlias = tuple[tuple[str, ...], float]
"""The values of the metric's own labels, and the figure."""


@dataclass(frozen=True)
class Metric:
    """One metric. All have the label `run`; metrics of stages have `stage` too."""

    name: str
    kind: str
    help: str
    read: Callable[[Any], Iterator[Sample]]
    labels: tuple[str, ...] = ()


def _plain(read: Callable[[Any], float]) -> Callable[[Any], Iterator[Sample]]:
    def samples(snapshot: Any) -> Iterator[Sample]:
        yield (), read(snapshot)

    return samples


def _sources(snapshot: RunSnapshot) -> Iterator[Sample]:
    yield ("done",), snapshot.done - snapshot.failed
    yield ("failed",), snapshot.failed
    yield ("done_before",), snapshot.skipped
    yield ("under_way",), snapshot.open
    if snapshot.left is not None:
        yield ("waiting",), snapshot.left


def _workers(snapshot: RunSnapshot) -> Iterator[Sample]:
    for state in ("starting", "busy", "idle", "stopping"):
        yield (state,), snapshot.executor_state.workers.get(state, 0)


def _restarts(snapshot: RunSnapshot) -> Iterator[Sample]:
    total = dict.fromkeys(KINDS_OF_RESTART, 0)
    for reason, times in snapshot.restarts.items():
        total[kind_of_restart(reason)] += times
    yield from (((kind,), times) for kind, times in total.items())


def _store(snapshot: RunSnapshot) -> Iterator[Sample]:
    yield ("used",), snapshot.executor_state.stored_bytes
    yield ("limit",), snapshot.executor_state.store_limit_bytes


_REASONS = {
    "timeout": ("timeout_s",),
    "memory": ("memory",),
    "recycled": ("recycled",),
    "node": ("node",),
    "killed": ("kill", "SIG", "signal"),
}
KINDS_OF_RESTART = (*_REASONS, "died")


def kind_of_restart(reason: str) -> str:
    """Return why a worker was replaced, in one word: the full reason may contain paths."""
    found = (kind for kind, words in _REASONS.items() if any(word in reason for word in words))
    return next(found, "died")


def _node_memory(snapshot: RunSnapshot) -> Iterator[Sample]:
    for node, usage in snapshot.nodes.items():
        yield (node, "used"), usage.used_bytes
        yield (node, "limit"), usage.total_bytes


def _gpu_memory(snapshot: RunSnapshot) -> Iterator[Sample]:
    for node, index, gpu in _gpus(snapshot):
        yield (node, index, "used"), gpu.used_bytes
        yield (node, index, "limit"), gpu.total_bytes


def _gpu_utilization(snapshot: RunSnapshot) -> Iterator[Sample]:
    for node, index, gpu in _gpus(snapshot):
        if gpu.utilization is not None:
            yield (node, index), gpu.utilization


def _gpus(snapshot: RunSnapshot) -> Iterator[tuple[str, str, GpuUsage]]:
    for node, usage in snapshot.nodes.items():
        for index, gpu in enumerate(usage.gpus):
            yield node, str(index), gpu


def _tasks(stage: StageSnapshot) -> Iterator[Sample]:
    """Yield settled counts only: others fall when a source is run again, and counters must not."""
    counts = stage.settled
    yield ("ok",), counts.tasks_passed
    yield ("dropped",), counts.tasks_dropped
    yield ("failed",), counts.tasks_failed
    yield ("retried",), counts.tasks_retried
    yield ("timed_out",), stage.usage.timeouts
    yield ("crashed",), stage.usage.crashes


def _items(stage: StageSnapshot) -> Iterator[Sample]:
    counts = stage.settled
    yield ("in",), counts.items_in
    yield ("out",), counts.items_out
    yield ("dropped",), counts.items_dropped
    yield ("failed",), counts.items_failed
    yield ("rejected",), counts.items_rejected


def _bytes(stage: StageSnapshot) -> Iterator[Sample]:
    yield ("in",), stage.settled.bytes_in
    yield ("out",), stage.settled.bytes_out


def _metric_values(stage: StageSnapshot) -> Iterator[Sample]:
    for name, metric in stage.settled.metrics.items():
        yield (name,), metric.count


def _metrics(stage: StageSnapshot) -> Iterator[Sample]:
    for name, metric in stage.settled.metrics.items():
        for statistic in ("mean", "min", "max", "sum"):
            yield (name, statistic), getattr(metric, statistic)


OF_RUNS = (
    Metric("sources", "gauge", "Sources by state.", _sources, ("state",)),
    Metric("workers", "gauge", "Workers by state.", _workers, ("state",)),
    Metric("worker_restarts", "counter", "Workers that were replaced, by cause.",
           _restarts, ("reason",)),
    Metric("object_store_bytes", "gauge", "The object stores of all nodes: used, and their limit.",
           _store, ("state",)),
    Metric("spilled_bytes", "counter", "What went from object stores to disks.",
           _plain(lambda snapshot: snapshot.executor_state.spilled_bytes)),
    Metric("node_memory_bytes", "gauge", "Memory of each node, or of its container.",
           _node_memory, ("node", "state")),
    Metric("gpu_memory_bytes", "gauge", "Memory of each GPU.", _gpu_memory,
           ("node", "gpu", "state")),
    Metric("gpu_utilization_ratio", "gauge", "Share of the time that each GPU worked.",
           _gpu_utilization, ("node", "gpu")),
    Metric("last_progress_timestamp_seconds", "gauge", "When anything last moved.",
           _plain(lambda snapshot: snapshot.last_progress)),
    Metric("run_seconds", "gauge", "How long the run has been going on.",
           _plain(lambda snapshot: snapshot.seconds)),
    Metric("run_active", "gauge", "1 while the run is under way, 0 once it has ended.",
           _plain(lambda snapshot: float(snapshot.status == "running"))),
)  # fmt: skip

OF_STAGES = (
    Metric("tasks", "counter", "Tasks by outcome; one may be failed and quarantined.",
           _tasks, ("status",)),
    Metric("items", "counter", "Records, pictures or clips, by outcome.", _items,
           ("direction",)),
    Metric("bytes", "counter", "Bytes that went in and came out.", _bytes, ("direction",)),
    Metric("queue_tasks", "gauge", "Tasks that wait before the stage.",
           _plain(lambda stage: stage.queue.tasks)),
    Metric("queue_bytes", "gauge", "Bytes that wait before the stage, where that is known.",
           _plain(lambda stage: stage.queue.num_bytes)),
    Metric("stage_workers", "gauge", "Workers that are in the stage's own code.",
           _plain(lambda stage: stage.at_work)),
    Metric("busy_seconds", "counter", "Time in the stage's own code, of all workers together.",
           _plain(lambda stage: stage.usage.seconds)),
    Metric("input_wait_seconds", "counter", "Time that workers, about to begin here, had no call.",
           _plain(lambda stage: stage.usage.waited_s)),
    Metric("room_wait_seconds", "counter", "Time that the outputs of the stage waited for room.",
           _plain(lambda stage: stage.usage.held_s)),
    Metric("setup_seconds", "counter", "Time that setting it up took, of all workers together.",
           _plain(lambda stage: stage.usage.setup_s)),
    Metric("setups", "counter", "How often it was set up.",
           _plain(lambda stage: stage.usage.setups)),
    Metric("cpu_seconds", "counter", "CPU time while in the stage's own code.",
           _plain(lambda stage: stage.usage.cpu_s)),
    Metric("cpu_wait_seconds", "counter", "Time that it was ready to work and no CPU was free.",
           _plain(lambda stage: stage.usage.crowded_s)),
    Metric("rss_peak_bytes", "gauge", "The most that a worker held while at this stage.",
           _plain(lambda stage: stage.usage.rss_bytes)),
    Metric("stage_metric", "gauge", "What the stage logged: mean, min, max and sum.",
           _metrics, ("metric", "statistic")),
    Metric("stage_metric_values", "counter", "How many values of a metric the stage logged.",
           _metric_values, ("metric",)),
)  # fmt: skip

TASK_SECONDS = "task_seconds"
TASK_SECONDS_HELP = "Seconds per task in the stage's own code, retries included."
QUARANTINED = "quarantined"
