"""Workers of a run, as the driver sees them: started, given calls, watched and stopped."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from curator_core import PlannedStage, Resources
from curator_core.model.crash_attribution import Blame
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.executor import FORCED_STOP_S
from curator_ray.inbox import Inbox
from curator_ray.stalls import BusyWorker
from curator_ray.worker.handle import WorkerHandle, WorkerLauncher

from curator_streaming.engine.blocks import BlockTable
from curator_streaming.scheduler.actions import Dispatch, StartWorker
from curator_streaming.scheduler.events import DownKind

LOG = logging.getLogger("curator_core")

TEARDOWN_TIMEOUT_S = 30.0
"""How long a worker may take to tear down during a run."""

START_WARNING_S = 20.0
"""After how long a worker that does not start is worth a warning."""

PING_INTERVAL_S = 1.0
"""How often workers without another reason to reply are pinged."""

LAST_TEARDOWN_TIMEOUT_S = 15.0
"""How long teardown may take at the end of a run; a busy machine needs more than a moment."""

CRASH_REPORT_TIMEOUT_S = 10.0
"""How long another machine may take to say why a worker died there."""

_UNSTARTED_TIMEOUT_S = 3.0
"""How long to wait for workers that never answered: they have nothing to tear down."""


@dataclass(eq=False)
class WorkerRecord:
    """What the driver knows of one worker."""

    number: int
    handle: WorkerHandle
    node: str
    first: int | None
    calls: dict[int, Dispatch] = field(default_factory=dict)
    """The calls that it has not finished, oldest first."""

    partial_seconds: dict[int, float] = field(default_factory=dict)
    """Calls that have given some of their outputs, with the seconds of work so far."""

    ready_steps: set[int] = field(default_factory=set)
    rss: int = 0
    end_kind: DownKind | None = None
    """How to report its end, once it has been asked to end."""

    end_reason: str = ""
    end_deadline: float = 0.0
    started_at: float = field(default_factory=time.monotonic)
    is_up: bool = False
    start_warned: bool = False
    is_pinged: bool = False
    """Whether a ping is on its way."""

    failed_step: int | None = None
    death: "PendingDeath | None" = None
    """Set when it is dead, until the reason is known."""


@dataclass(frozen=True, slots=True)
class PendingDeath:
    """A death that waits for the report of another machine."""

    error: Exception
    reason: str = ""
    """Why we kill the worker, if we do; then only the rest of the report is used."""


@dataclass(frozen=True, slots=True)
class ReplyKey:
    """What a reply that is still to come will be about."""

    kind: Literal["started", "set_up", "call", "torn_down", "ping", "ended", "crash_report"]
    worker: int
    call: int = -1


class WorkerSet:
    """Starts workers, gives them calls, and makes sure that each of them ends."""

    def __init__(
        self,
        launcher: WorkerLauncher,
        stages: tuple[PlannedStage, ...],
        inbox: Inbox[ReplyKey],
        blocks: BlockTable,
    ) -> None:
        self.records: dict[int, WorkerRecord] = {}
        self.stages = stages
        self._launcher = launcher
        self._inbox = inbox
        self._blocks = blocks
        self._streams = [planned.fans_out for planned in stages]
        self._shared_resources = _shared_resources(stages)
        self._next_check = 0.0
        self._teardown_timeout_s = TEARDOWN_TIMEOUT_S

    def busy(self) -> list[BusyWorker]:
        """Return the workers with calls."""
        return [
            BusyWorker(record.handle.status_files, self.stages[call.first])
            for record in self.records.values()
            for call in list(record.calls.values())[:1]
        ]

    def start(self, action: StartWorker, node: NodeFacts) -> None:
        planned = None if action.first is None else self.stages[action.first]
        handle = self._launcher.start(
            str(action.worker),
            self._shared_resources if planned is None else planned.resources,
            node=node,
            runtime_env=planned.runtime_env if planned else None,
            options={"num_cpus": 0, "num_gpus": action.grant.gpus},  # the scheduler counts CPUs
        )
        record = WorkerRecord(action.worker, handle, action.node, action.first)
        self.records[action.worker] = record
        self._inbox.expect(handle.ready, ReplyKey("started", action.worker))

    def set_up(self, record: WorkerRecord, last: int) -> None:
        """Set up the step of a dedicated worker before its first call."""
        assert record.first is not None
        ref = record.handle.set_up(self._stage_indices(record.first, last))
        self._inbox.expect(ref, ReplyKey("set_up", record.number))

    def dispatch(self, action: Dispatch, blame: Blame | None) -> None:
        record = self.records.get(action.worker)
        if record is None:
            return
        record.calls[action.call] = action
        step = self._stage_indices(action.first, action.last)
        spans = [(part.start, part.stop) for part in action.inputs]
        refs = [self._blocks[part.handle].ref for part in action.inputs]
        key = ReplyKey("call", action.worker, action.call)
        if any(self._streams[action.first : action.last + 1]):
            self._inbox.expect_stream(record.handle.stream(step, blame, spans, refs), key)
        else:
            call = record.handle.run(step, blame, spans, refs)
            self._inbox.expect(call.result, key, call.outputs)

    def tear_down(self, worker: int, first: int, last: int) -> None:
        """Tear down the stages of one step in a shared worker, to make room for others."""
        record = self.records.get(worker)
        if record is None:
            return
        record.ready_steps.discard(first)
        for position in range(last, first - 1, -1):
            ref = record.handle.tear_down(self.stages[position].index)
            self._inbox.expect(ref, ReplyKey("torn_down", worker))

    def stop(self, record: WorkerRecord, kind: DownKind, reason: str) -> None:
        """Let a worker finish its calls, tear down and end."""
        if record.end_kind is None and record.death is None:
            record.end_kind, record.end_reason = kind, reason
            timeout = self._teardown_timeout_s if record.is_up else _UNSTARTED_TIMEOUT_S
            record.end_deadline = time.monotonic() + timeout
            self._inbox.expect(record.handle.end(), ReplyKey("ended", record.number))

    def await_crash_report(self, record: WorkerRecord, ref: Any, death: PendingDeath) -> None:
        """Expect the report of another machine; `check` returns the worker if none comes."""
        record.death = death
        record.end_deadline = time.monotonic() + CRASH_REPORT_TIMEOUT_S
        self._inbox.expect(ref, ReplyKey("crash_report", record.number))

    def hurry(self) -> None:
        """Shorten all waiting: the run was asked to stop, and the time for it has passed."""
        self._teardown_timeout_s = FORCED_STOP_S
        latest = time.monotonic() + FORCED_STOP_S
        for record in self.records.values():
            record.end_deadline = min(record.end_deadline, latest)

    def check(self) -> list[WorkerRecord]:
        """Ping silent workers, warn of slow starts, and return those whose deadline has passed.

        Without a ping the death of a worker that is idle or held back would not be noticed.
        """
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + PING_INTERVAL_S
            for record in self.records.values():
                self._warn_of_slow_start(record, now)
                is_expected = record.is_pinged or record.end_kind or record.death
                if not is_expected and self._is_silent(record):
                    record.is_pinged = True
                    self._inbox.expect(record.handle.ping(), ReplyKey("ping", record.number))
        ending = (r for r in self.records.values() if r.end_kind or r.death)
        return [record for record in ending if now > record.end_deadline]

    def _warn_of_slow_start(self, record: WorkerRecord, now: float) -> None:
        waited = now - record.started_at
        if record.is_up or record.start_warned or waited < START_WARNING_S:
            return
        record.start_warned = True
        stage = "shared" if record.first is None else self.stages[record.first].name
        LOG.warning(
            "streaming: worker %d (%s) has been starting for %.0f s on node %s: other jobs hold "
            "what it needs there, the node is short of memory or CPU, or its runtime_env takes "
            "long to install",
            record.number, stage, waited, record.node[:8],
        )  # fmt: skip

    def _is_silent(self, record: WorkerRecord) -> bool:
        """Whether no call of this worker will tell us anything: none is running, or all paused."""
        calls = (ReplyKey("call", record.number, call) for call in record.calls)
        return record.is_up and all(self._inbox.is_paused(call) for call in calls)

    def remove(self, record: WorkerRecord) -> None:
        """Kill a worker, if it is still there, and drop everything that was expected of it."""
        self.records.pop(record.number, None)
        record.handle.kill()
        kinds: Iterable[Any] = ("started", "set_up", "torn_down", "ping", "ended", "crash_report")
        keys = {ReplyKey(kind, record.number) for kind in kinds}
        self._inbox.forget(keys | {ReplyKey("call", record.number, call) for call in record.calls})

    def stop_all(self, timeout_s: float = LAST_TEARDOWN_TIMEOUT_S) -> None:
        """End the run for all workers: interrupt calls, tear down, kill what is left."""
        import ray

        self._inbox.forget_all()  # or generators that are held back would never end
        ends, certain = [], []
        for record in self.records.values():
            record.handle.abort()
            ends.append(record.handle.end())
            if record.is_up:
                certain.append(ends[-1])
        try:
            timeouts = (_UNSTARTED_TIMEOUT_S, timeout_s - _UNSTARTED_TIMEOUT_S)
            for waited, seconds in zip((ends, certain), timeouts, strict=True):
                if waited and seconds > 0:
                    ray.wait(waited, num_returns=len(waited), timeout=seconds)
        finally:
            for record in self.records.values():
                record.handle.kill()
            self.records.clear()

    def _stage_indices(self, first: int, last: int) -> tuple[int, int]:
        return self.stages[first].index, self.stages[last].index


def _shared_resources(stages: tuple[PlannedStage, ...]) -> Resources:
    """Return the resources that shared workers announce to their stages."""
    cpus = [p.resources.cpus for p in stages if not p.resources.needs_gpu]
    return Resources(cpus=max(cpus, default=1.0))
