"""What a run reports of its workers: progress, the closing summary, and snapshots of its state."""

from collections import Counter
from collections.abc import Iterator

from curator_core.model.snapshot import ExecutorState, Queue
from curator_ray.cluster.node_usage import NodeUsageMonitor
from curator_ray.cluster.object_store import StoreMonitor

from curator_streaming.engine.workers import WorkerRecord, WorkerSet
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.stats import StepSummary, Summary

_NOTABLE_S = 1.0
"""Shorter runs need no summary, and shorter setups are not mentioned."""


class StateReader:
    """Reads the state of the workers and queues; called in the driving thread."""

    def __init__(self, workers: WorkerSet, scheduler: Scheduler, nodes: NodeUsageMonitor) -> None:
        self._workers = workers
        self._scheduler = scheduler
        self._nodes = nodes
        self._store = StoreMonitor()

    def __call__(self) -> ExecutorState:
        records = list(self._workers.records.values())
        stages = self._workers.stages
        queues = self._scheduler.queues()
        store = self._store.read()
        calls = (call for record in records for call in list(record.calls.values())[:1])
        return ExecutorState(
            Counter(map(_state_of, records)),
            {stages[first].index: Queue(*waiting) for first, waiting in queues.items()},
            Counter(stages[call.first].index for call in calls),
            store.used,
            store.spilled,
            store.limit,
            self._nodes.latest(),
        )


def _state_of(record: WorkerRecord) -> str:
    if record.end_kind:
        return "stopping"
    if not record.is_up:
        return "starting"
    return "busy" if record.calls else "idle"


def progress_line(summary: Summary, workers: int) -> str:
    """Say in one line how far each step is."""
    steps = (f"{s.name}: {s.tasks:,} done, {s.waiting_tasks:,} waiting" for s in summary.steps)
    return f"{', '.join(steps)}; {_count(workers, 'worker')}"


def describe_bottleneck(summary: Summary) -> str:
    """Name the bottleneck, the evidence for it, and what would help."""
    return f"the bottleneck was {summary.bottleneck}: {summary.evidence}; {summary.advice}"


def summary_lines(summary: Summary) -> Iterator[str]:
    """Yield the closing summary; nothing for a run that was short or did nothing."""
    if summary.seconds < _NOTABLE_S or not any(step.tasks for step in summary.steps):
        return
    for step in summary.steps:
        yield _step_line(step)
    if summary.shared_workers:
        yield _shared_line(summary)
    if summary.bottleneck:
        yield describe_bottleneck(summary)
    else:
        yield f"no stage was a bottleneck: {summary.evidence}"


def _step_line(step: StepSummary) -> str:
    line = f"{step.name}: {_count(step.tasks, 'task')}"
    if step.tasks:
        line = f"{line}, {_seconds(step.seconds_per_task)} each"
    if step.is_dedicated and not step.workers:
        return f"{line}, none of its dedicated workers started"
    if not step.is_dedicated:
        return f"{line}, on shared workers, {100 * step.cpu_share:.0f} % of the CPUs"
    waits = _waits(
        step.there_s,
        (step.waited_for_input_s, "input"),
        (step.waited_for_room_s, "the stages after it"),
        (step.waited_for_cpus_s, "CPUs"),
    )
    busy = 100 * min(1.0, step.busy_s / step.there_s) if step.there_s else 0.0
    setup = f", {_seconds(step.setup_s)} of setup" if step.setup_s >= _NOTABLE_S else ""
    workers = _count(step.workers, "dedicated worker")
    return f"{line}, on {workers}{setup}, busy {busy:.0f} %{waits}"


def _shared_line(summary: Summary) -> str:
    waits = _waits(
        summary.shared_there_s,
        (summary.shared_idle_s, "input"),
        (summary.shared_waited_for_room_s, "later stages"),
        (summary.shared_waited_for_cpus_s, "CPUs"),
        (sum(s.setup_s for s in summary.steps if not s.is_dedicated), "setup"),
    )
    return f"{_count(summary.shared_workers, 'shared worker')}{waits or ', hardly ever waiting'}"


def _waits(total_s: float, *waits: tuple[float, str]) -> str:
    """Say what shares of the time were spent waiting, without the negligible ones."""
    shares = [
        f"{100 * seconds / total_s:.0f} % for {what}"
        for seconds, what in waits
        if total_s and seconds >= 0.01 * total_s
    ]
    return f", waited {', '.join(shares)}" if shares else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _seconds(seconds: float) -> str:
    """Format with two digits, or all of those before the point."""
    number, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{number:,.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"
