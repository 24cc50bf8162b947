"""One stage working on all tasks that wait for it, until none is left."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from curator_core import PlannedStage
from curator_core.errors import StageError, reason_of
from curator_core.model.reports import CallReport, Keys
from curator_core.model.snapshot import Queue
from curator_ray.inbox import Received
from curator_ray.recovery import CrashHistory
from curator_ray.worker.deaths import WorkerDeath, is_worker_death
from curator_ray.worker.messages import CallResult
from curator_ray.worker.output import LogRelay

from curator_actor_pool.call_size import CallSizer
from curator_actor_pool.failures import FailureHandler
from curator_actor_pool.monitor import RunMonitor
from curator_actor_pool.pools import ActorPools, PoolActor, Subject
from curator_actor_pool.stored_tasks import StoredRange, StoredTasks, TaskQueue, source_keys

_POLL_S = 0.1
_SCALE_EVERY_S = 0.5


@dataclass(frozen=True)
class FinishedCall:
    """A call with all of its outputs."""

    keys: Keys
    report: CallReport
    outputs: list[StoredTasks]
    nbytes: int


@dataclass(frozen=True)
class RunParts:
    """What the passes of all stages share."""

    pools: ActorPools
    failures: FailureHandler
    crashes: CrashHistory
    monitor: RunMonitor
    relay: LogRelay
    slots_per_actor: int


class StagePass:
    """Gives the tasks of one stage to its actors, and collects the outputs."""

    def __init__(
        self,
        planned: PlannedStage,
        ranges: Iterable[StoredRange],
        sizer: CallSizer,
        parts: RunParts,
        *,
        is_first: bool,
        growth: int,
    ) -> None:
        """`growth`: how many times as many tasks the next round may have. Actors for those start
        now, so that the next round need not wait for them."""
        self._planned = planned
        self._queue = TaskQueue(ranges)
        self._sizer = sizer
        self._parts = parts
        self._pools = parts.pools
        self._is_first = is_first
        self._growth = growth
        self._scaled_at = 0.0
        self._scaled_changes = -1
        self.input_bytes = self._queue.nbytes

    def calls(self) -> Iterator[FinishedCall]:
        """Yield calls as they finish. The reader may take its time."""
        monitor, queue = self._parts.monitor, self._queue
        monitor.stage = self._planned
        while queue.tasks or any(actor.calls for actor in self._pools.actors.values()):
            monitor.waiting = Queue(queue.tasks, int(queue.nbytes))
            monitor.poll(self._planned, self._handle_death)
            if self._is_first and monitor.is_stopping:
                queue.clear()  # no source is started any more
            self._give_out()
            for message in self._pools.take_messages(_POLL_S):
                finished = self._handle(message)
                if finished is not None:
                    yield finished
                monitor.note_progress()  # also if the reader took its time

    def _give_out(self) -> None:
        """Give a call to each free actor, and more to each if calls are short."""
        if not self._queue.tasks:
            return
        self._scale()
        ready = self._pools.ready(self._planned)
        slots = self._parts.slots_per_actor
        limit = self._sizer.calls_per_worker(slots, self._queue.tasks, len(ready))
        for calls in range(limit):
            for actor in [actor for actor in ready if len(actor.calls) == calls]:
                if not self._queue.tasks:
                    return
                self._call(actor, len(ready))

    def _scale(self) -> None:
        """Start actors if there may be room for more, and in any case from time to time."""
        now = time.monotonic()
        has_changed = self._pools.changes != self._scaled_changes
        if not has_changed and now - self._scaled_at < _SCALE_EVERY_S:
            return
        pending = sum(len(actor.calls) for actor in self._pools.actors.values())
        wanted = self._sizer.max_calls(self._queue.tasks * self._growth) + pending
        avoided = self._parts.failures.avoided_nodes.get(self._planned.index, ())
        self._pools.scale(self._planned, wanted, avoided)
        self._scaled_at, self._scaled_changes = now, self._pools.changes

    def _call(self, actor: PoolActor, actors: int) -> None:
        count = self._sizer.tasks_per_call(self._queue.tasks, self._queue.nbytes, actors)
        keeps_order = self._planned.stage.works_on_batches and self._planned.batch_size > 1
        ranges = self._queue.take(count, "" if keeps_order else actor.node)
        blame = self._parts.crashes.blame_for(source_keys(ranges))
        self._pools.call(actor, self._planned, ranges, blame)

    # Messages of actors

    def _handle(self, message: Received[Subject]) -> FinishedCall | None:
        actor = self._pools.actors.get(message.subject.actor)
        if actor is None:
            return None
        result = message.value
        if isinstance(result, CallResult):
            self._parts.relay.forward(str(actor.number), result.lines, result.output)
        kind = message.subject.kind
        if message.error is not None:
            self._handle_error(actor, message.subject, message.error)
        elif kind == "start":
            actor.is_up = True
            self._pools.set_up(actor, self._planned)
        elif kind == "setup":
            self._handle_setup(actor, result)
        elif kind == "call":
            return self._handle_call(actor, message)
        elif kind == "end":
            self._pools.remove(actor)
        return None

    def _handle_setup(self, actor: PoolActor, result: CallResult) -> None:
        index, actor.setting_up = actor.setting_up, None
        assert index is not None
        is_ours = index == self._planned.index
        if result.error is not None:
            self._pools.end(actor)
            if is_ours:
                self._parts.failures.record_setup_failure(
                    actor, self._planned, str(result.error), result.error
                )
            return
        actor.ready.add(index)
        if is_ours:
            self._parts.failures.record_setup(self._planned)
        else:  # the pass of the stage ended before it was set up
            self._pools.set_up(actor, self._planned)

    def _handle_call(self, actor: PoolActor, message: Received[Subject]) -> FinishedCall | None:
        result: CallResult = message.value
        call = actor.calls[message.subject.call]
        if result.error is not None:
            raise result.error
        if result.is_aborted:
            del actor.calls[call.number]
            self._queue.put_back(call.ranges)
            return None
        report = call.add(result, message.outputs, actor.node)
        if report is None:
            return None
        del actor.calls[call.number]
        self._sizer.learn(call.tasks, call.seconds, call.nbytes)
        return FinishedCall(source_keys(call.ranges), report, call.outputs, call.nbytes)

    def _handle_error(self, actor: PoolActor, subject: Subject, error: Exception) -> None:
        import ray

        if is_worker_death(error):
            if actor.end_deadline is not None and not actor.calls:
                self._pools.remove(actor)
            else:
                self._handle_death(actor, actor.handle.explain_death(error))
        elif subject.kind == "call" and isinstance(error, ray.exceptions.ObjectLostError):
            keys = source_keys(actor.calls.pop(subject.call).ranges)
            self._parts.failures.handle_lost_data(keys, error)
        else:
            raise StageError(
                f"worker {actor.number} failed, and not because of a stage: {reason_of(error)}",
                detail=str(error),
            )

    def _handle_death(self, actor: PoolActor, death: WorkerDeath) -> None:
        self._parts.failures.handle_death(actor, death, self._planned, self._queue)
