"""Events: replies of workers, their deaths and lost data, translated for the scheduler."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from curator_core.errors import CuratorError, StageError, reason_of
from curator_core.local.shared_status import StageStatus
from curator_core.model.reports import CallReport
from curator_core.model.usage import RECYCLED
from curator_ray.inbox import Received
from curator_ray.recovery import CrashHistory
from curator_ray.worker.deaths import NODE_LOST, WorkerDeath, is_worker_death
from curator_ray.worker.messages import CallResult
from curator_ray.worker.output import LogRelay
from curator_ray.worker.status_files import CrashReport

from curator_streaming.engine.blocks import BlockTable, size_of
from curator_streaming.engine.results import FinalBlock, Results
from curator_streaming.engine.workers import PendingDeath, ReplyKey, WorkerRecord, WorkerSet
from curator_streaming.scheduler import events
from curator_streaming.scheduler.actions import Dispatch
from curator_streaming.scheduler.blocks import Block, BlockSlice
from curator_streaming.scheduler.steps import StepSpec

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class EventSource:
    """Collects `pending` events for the scheduler; `failure` is an error that ends the run.

    `suspects_lost_node`: a worker died with its node, so the nodes should be looked at.
    """

    def __init__(
        self,
        run: "RemoteRun",
        steps: list[StepSpec],
        workers: WorkerSet,
        blocks: BlockTable,
        results: Results,
        crashes: CrashHistory,
    ) -> None:
        self.pending: list[events.Event] = []
        self.failure: CuratorError | None = None
        self.suspects_lost_node = False
        self.setup_errors: dict[int, CuratorError] = {}
        self._run = run
        self._last_stages = {spec.first: spec.last for spec in steps}
        self._stages = workers.stages
        self._workers = workers
        self._blocks = blocks
        self._results = results
        self._crashes = crashes
        self._relay = LogRelay(run.add_worker_output)
        self._last_death = "died"
        self._handlers: dict[str, Callable[[WorkerRecord, Received[ReplyKey]], None]] = {
            "started": self._on_started,
            "set_up": self._on_set_up,
            "call": self._on_call,
            "torn_down": self._on_torn_down,
            "ping": self._on_ping,
            "ended": lambda record, _: self.worker_ended(record),
            "crash_report": self._on_crash_report,
        }

    def handle(self, reply: Received[ReplyKey]) -> None:
        """Take in one reply."""
        record = self._workers.records.get(reply.subject.worker)
        if record is None:
            return
        if record.death and reply.subject.kind != "crash_report":
            return  # that it is dead is known already
        if isinstance(reply.value, CallResult):
            self._relay.forward(str(record.number), reply.value.lines, reply.value.output)
        if reply.error is not None and reply.subject.kind not in ("ended", "crash_report"):
            self._on_error(record, reply.subject, reply.error)
        else:
            self._handlers[reply.subject.kind](record, reply)

    # Replies

    def _on_started(self, record: WorkerRecord, _: Received[ReplyKey]) -> None:
        record.is_up = True
        if record.end_kind:
            return
        if record.first is None:
            self.pending.append(events.WorkerUp(_now(), record.number))
        else:
            self._workers.set_up(record, self._last_stages[record.first])

    def _on_set_up(self, record: WorkerRecord, reply: Received[ReplyKey]) -> None:
        result = reply.value
        assert record.first is not None
        if result.error is not None:
            self._setup_failed(record, record.first, result.error)
            return
        record.ready_steps.add(record.first)
        record.rss = result.rss_bytes
        self.pending.append(events.WorkerUp(_now(), record.number))
        self.pending.append(
            events.SetupMeasured(_now(), record.number, record.first, result.setup_seconds)
        )

    def _on_torn_down(self, record: WorkerRecord, reply: Received[ReplyKey]) -> None:
        record.rss = reply.value.rss_bytes

    def _on_ping(self, record: WorkerRecord, _: Received[ReplyKey]) -> None:
        record.is_pinged = False

    def _on_call(self, record: WorkerRecord, reply: Received[ReplyKey]) -> None:
        result: CallResult = reply.value
        call = record.calls.get(reply.subject.call)
        if call is None:
            return
        if result.error is not None:
            del record.calls[call.call]
            if result.setup_seconds == 0.0:  # the error is one of the setup
                self._setup_failed(record, call.first, result.error)
            elif self.failure is None:
                self.failure = result.error
        elif result.is_aborted:
            del record.calls[call.call]
            self._void_partial_outputs(record, call, "was interrupted")
            self.pending.append(events.CallFailed(_now(), call.call, "interrupted"))
        else:
            self._note_setup(record, call, result)
            self._add_outputs(record, call, reply)

    def _note_setup(self, record: WorkerRecord, call: Dispatch, result: CallResult) -> None:
        grown = max(0, result.rss_bytes - record.rss) if record.rss else 0
        record.rss = result.rss_bytes
        if call.first in record.ready_steps or not result.setup_seconds:
            return
        record.ready_steps.add(call.first)
        self.pending.append(
            events.SetupMeasured(_now(), record.number, call.first, result.setup_seconds, grown)
        )

    def _add_outputs(self, record: WorkerRecord, call: Dispatch, reply: Received[ReplyKey]) -> None:
        """Record the outputs of a call, and its report if it has ended."""
        result: CallResult = reply.value
        is_last = call.last == len(self._stages) - 1
        outputs: tuple[Block, ...] = ()
        keys = self._blocks.source_keys(call.inputs)
        # Read before the run takes over the report and changes it.
        counts = None if result.report is None else _StageCounts(result.report)
        if len(result):
            block = self._blocks.add(reply.outputs, result, record.node)
            outputs = (block,)
            if is_last:
                self._blocks.release(block.handle)
        if is_last:
            ref = reply.outputs if len(result) else None
            self._results.add_final(FinalBlock(ref, size_of(result), keys, result.report))
        elif result.report is not None:
            self._results.report(result.report, keys)
        seconds = record.partial_seconds.pop(call.call, 0.0) + result.seconds
        if counts is None:
            record.partial_seconds[call.call] = seconds
            self.pending.append(events.CallYielded(_now(), call.call, outputs))
            return
        del record.calls[call.call]
        positions = {
            self._stages[position].index: position for position in range(call.first, call.last + 1)
        }
        self.pending.append(
            events.CallDone(
                _now(),
                call.call,
                outputs,
                seconds=seconds,
                waited=result.idle_seconds,
                stage_seconds=counts.seconds(positions),
                fanned_out=counts.first_fan_out(positions),
                rss=result.rss_bytes,
            )
        )

    def _setup_failed(self, record: WorkerRecord, first: int, error: CuratorError) -> None:
        """Replace the worker: the scheduler starts others, a limited number of times."""
        self.setup_errors[first] = error
        record.failed_step = first
        self._workers.stop(record, "setup", str(error))

    # Workers that are gone

    def worker_ended(self, record: WorkerRecord) -> None:
        """Report a worker that ended because it was asked to."""
        if record.end_reason.startswith(RECYCLED):
            self._run.record_worker_loss(str(record.number), RECYCLED)
        self._workers.remove(record)
        kind = record.end_kind or "stopped"
        self.pending.append(
            events.WorkerDown(
                _now(), record.number, record.end_reason, kind, first=record.failed_step
            )
        )

    def kill_worker(self, record: WorkerRecord, reason: str) -> None:
        """Kill a worker that hangs, and report it as dead."""
        if record.death is None:
            self._find_reason(record, PendingDeath(TimeoutError(reason), reason))

    def worker_overdue(self, record: WorkerRecord) -> None:
        """Stop waiting: the worker does not end, or the report about its death does not come."""
        if record.death is not None:
            self._explain_death(record, record.death, None)
        else:
            self.worker_ended(record)

    def node_lost(self, node: str) -> None:
        """Forget the workers of a node; `NodeLost` tells the scheduler about all of them."""
        for record in [r for r in self._workers.records.values() if r.node == node]:
            self._run.record_worker_loss(str(record.number), NODE_LOST)
            self._workers.remove(record)
            for call in record.calls.values():
                self._void_partial_outputs(record, call, NODE_LOST)

    def reason_for(self, _: BlockSlice) -> str:
        return f"its worker {self._last_death}"

    def _on_error(self, record: WorkerRecord, key: ReplyKey, error: Exception) -> None:
        import ray

        if is_worker_death(error):
            self._worker_died(record, error)
        elif key.kind == "call" and isinstance(error, ray.exceptions.ObjectLostError):
            self._inputs_lost(record.calls.pop(key.call), error)
        else:
            self.failure = StageError(
                f"worker {record.number} failed, and no stage is to blame: {reason_of(error)}",
                detail=str(error),
            )

    def _worker_died(self, record: WorkerRecord, error: Exception) -> None:
        if record.end_kind and not record.calls:
            self.worker_ended(record)
            return
        self._find_reason(record, PendingDeath(error))

    def _find_reason(self, record: WorkerRecord, death: PendingDeath) -> None:
        """Find out why a worker died, without waiting for another machine."""
        ref = record.handle.request_crash_report()
        if ref is not None:
            self._workers.await_crash_report(record, ref, death)
            return
        found = record.handle.explain_death(death.error)
        self._report_death(record, replace(found, reason=death.reason or found.reason))

    def _on_crash_report(self, record: WorkerRecord, reply: Received[ReplyKey]) -> None:
        if record.death is not None:
            self._explain_death(record, record.death, reply.value)

    def _explain_death(
        self, record: WorkerRecord, death: PendingDeath, report: CrashReport | None
    ) -> None:
        found = record.handle.explain_death_by(report, death.error)
        self._report_death(record, replace(found, reason=death.reason or found.reason))

    def _report_death(self, record: WorkerRecord, death: WorkerDeath) -> None:
        reason = death.message
        self._last_death = reason
        stage_index = death.status.stage_index if death.status else None
        self._run.add_worker_output(str(record.number), death.output)
        self._run.record_worker_loss(str(record.number), reason, stage_index)
        culprit = next(iter(record.calls.values()), None)
        note = death.status
        suspects: tuple[BlockSlice, ...] = ()
        kind: events.DownKind = "died"
        first = None
        is_innocent = death.is_node_lost
        self.suspects_lost_node = self.suspects_lost_node or is_innocent
        if note is not None and not note.task_ids and note.complete:
            kind, first = "setup", culprit.first if culprit else record.first
        elif note is not None and culprit is not None:
            self._crashes.record_crash(note, f"its worker {reason}", death.weight)
            suspects = tuple(_tasks_in_hand(note, self._blocks.single_tasks(culprit.inputs)))
            is_innocent = is_innocent or (culprit.quarantine and bool(suspects))
        for call in record.calls.values():
            self._void_partial_outputs(record, call, reason)
        self._workers.remove(record)
        self.pending.append(
            events.WorkerDown(
                _now(),
                record.number,
                f"a worker {reason}{_during_setup(kind, note, self._run)}",
                kind,
                culprit=culprit.call if culprit else None,
                suspects=suspects,
                innocent=is_innocent,
                first=first,
                weight=death.weight,
            )
        )

    def _inputs_lost(self, call: Dispatch, error: Exception) -> None:
        """Run the sources of a call again, because its inputs were lost with their node."""
        reason = f"its data was lost ({type(error).__name__})"
        self._results.reruns.rerun(self._blocks.source_keys(call.inputs), reason)
        self.pending.append(events.CallFailed(_now(), call.call, reason, lost=True))

    def _void_partial_outputs(self, record: WorkerRecord, call: Dispatch, reason: str) -> None:
        """Run the sources of a call again if it gave outputs: it would give them twice."""
        if call.call in record.partial_seconds:
            keys = self._blocks.source_keys(call.inputs)
            self._results.reruns.rerun(keys, f"its worker {reason}")


class _StageCounts:
    """The part of a report that the scheduler learns from."""

    def __init__(self, report: CallReport) -> None:
        counts = report.counts
        self._seconds = {index: of.seconds for index, of in counts.items()}
        self._growth = {index: of.tasks_out - of.tasks_in for index, of in counts.items()}

    def seconds(self, positions: dict[int, int]) -> dict[int, float]:
        """Return seconds by the position of the stage."""
        return {positions[i]: spent for i, spent in self._seconds.items() if i in positions}

    def first_fan_out(self, positions: dict[int, int]) -> int | None:
        """Return the first stage that gave more tasks than it took."""
        grown = (positions[i] for i, more in self._growth.items() if more > 0 and i in positions)
        return min(grown, default=None)


def _tasks_in_hand(
    note: StageStatus, tasks: Iterable[tuple[BlockSlice, str]]
) -> Iterator[BlockSlice]:
    """Yield the tasks of a call that a dead worker was at: those noted, or their ancestors."""
    noted: set[str] = set()
    for task_id in note.task_ids:
        parts = task_id.split(".")
        noted.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    for part, task_id in tasks:
        if task_id in noted:
            yield part


def _during_setup(kind: str, note: StageStatus | None, run: "RemoteRun") -> str:
    if kind != "setup" or note is None:
        return ""
    return f" while stage {run.plan.stages[note.stage_index].name!r} was being set up"


def _now() -> float:
    return time.monotonic()
