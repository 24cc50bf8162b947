"""Snapshots: the state of a run at one moment, for tables, metrics, files and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from curator_core.model.node_usage import NodeUsage
from curator_core.model.records import StageCounts
from curator_core.model.usage import Usage


@dataclass(frozen=True)
class Queue:
    """Tasks waiting before a stage."""

    tasks: int = 0
    num_bytes: int = 0


@dataclass(frozen=True)
class ExecutorState:
    """State of an executor at one moment: workers by state, queues and workers by stage."""

    workers: Mapping[str, int] = field(default_factory=dict)
    """Number of workers that are `starting`, `busy`, `idle` or `stopping`."""

    queues: Mapping[int, Queue] | None = None
    """None if the executor does not know. Then waiting tasks are derived from the counts."""

    at_work: Mapping[int, int] = field(default_factory=dict)
    stored_bytes: int = 0
    """Bytes in the object store; `spilled_bytes` of them are on disk."""
    spilled_bytes: int = 0
    store_limit_bytes: int = 0
    nodes: Mapping[str, NodeUsage] = field(default_factory=dict)
    """Usage of the nodes by name. Empty if the executor runs only on the driver's machine."""


@dataclass(frozen=True)
class StageSnapshot:
    """State of one stage. `counts` include unfinished sources, `settled` only finished ones."""

    index: int
    name: str
    counts: StageCounts
    settled: StageCounts
    usage: Usage
    queue: Queue = Queue()
    at_work: int = 0
    writes: bool = False

    def to_json(self) -> dict[str, Any]:
        counts = replace(self.counts, scores={}, contents=None)  # large, and not used yet
        return {
            "index": self.index,
            "name": self.name,
            "counts": counts.to_json(),
            "usage": self.usage.to_json(),
            "queue": [self.queue.tasks, self.queue.num_bytes],
            "at_work": self.at_work,
            "writes": self.writes,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StageSnapshot:
        counts = StageCounts.from_json(facts["counts"])
        usage, queue = Usage.from_json(facts["usage"]), Queue(*facts["queue"])
        return cls(facts["index"], facts["name"], counts, counts, usage, queue, facts["at_work"],
                   facts["writes"])  # fmt: skip


@dataclass(frozen=True)
class RunSnapshot:
    """State of the whole run. `left` is the number of untaken sources, once all are listed."""

    time: float
    name: str
    executor: str
    status: str
    seconds: float
    done: int
    skipped: int
    failed: int
    open: int
    left: int | None
    stages: tuple[StageSnapshot, ...]
    executor_state: ExecutorState = ExecutorState()
    restarts: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """Quarantined tasks by stage."""
    last_progress: float = 0.0
    is_stopping: bool = False
    nodes: Mapping[str, NodeUsage] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything that another process needs to show the run."""
        state = self.executor_state
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "stages": [stage.to_json() for stage in self.stages],
            "workers": dict(state.workers),
            "stored_bytes": state.stored_bytes,
            "spilled_bytes": state.spilled_bytes,
            "nodes": {name: usage.to_json() for name, usage in self.nodes.items()},
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> RunSnapshot:
        state = ExecutorState(
            facts["workers"],
            stored_bytes=facts["stored_bytes"],
            spilled_bytes=facts["spilled_bytes"],
        )
        stages = tuple(StageSnapshot.from_json(stage) for stage in facts["stages"])
        nodes = {name: NodeUsage.from_json(usage) for name, usage in facts["nodes"].items()}
        plain = {name: facts[name] for name in _PLAIN}
        return cls(**plain, stages=stages, executor_state=state, nodes=nodes)

    def in_short(self) -> dict[str, Any]:
        """Return the few numbers per stage that a timeline is drawn from."""
        state = self.executor_state
        return {
            "sources": [self.done + self.skipped, self.open, self.left],
            "workers": dict(state.workers),
            "stored": state.stored_bytes,
            "spilled": state.spilled_bytes,
            "stages": [list(_in_short(stage)) for stage in self.stages],
        }


_PLAIN = (
    "time", "name", "executor", "status", "seconds", "done", "skipped", "failed", "open", "left",
    "restarts", "quarantined", "last_progress", "is_stopping",
)  # fmt: skip


IN_SHORT = ("items_in", "busy_s", "waited_s", "held_s", "rss_bytes", "queue_tasks", "queue_bytes")
"""Meaning of the numbers of a stage in a short snapshot."""


def _in_short(stage: StageSnapshot) -> Iterator[float]:
    usage = stage.usage
    yield stage.counts.items_in
    yield round(usage.seconds, 2)
    yield round(usage.waited_s, 2)
    yield round(usage.held_s, 2)
    yield usage.rss_bytes
    yield stage.queue.tasks
    yield stage.queue.num_bytes
