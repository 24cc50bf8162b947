"""The driver: a thread that connects the scheduler, the workers on Ray and the run's results."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from curator_core import PlannedStage
from curator_core.errors import CuratorError, StageError
from curator_ray.cluster.autoscaler import NodeRequests
from curator_ray.cluster.node_usage import NodeUsageMonitor
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.cluster.survey import Survey
from curator_ray.executor import FORCED_STOP_S
from curator_ray.inbox import Inbox, Received
from curator_ray.recovery import CrashHistory
from curator_ray.reservations import Reservations
from curator_ray.stalls import StallMonitor
from curator_ray.worker.handle import WorkerLauncher

from curator_streaming.engine.blocks import BlockTable
from curator_streaming.engine.events import EventSource
from curator_streaming.engine.results import OutputSink, Results
from curator_streaming.engine.sources import SchedulerSources, TaskInput
from curator_streaming.engine.workers import LAST_TEARDOWN_TIMEOUT_S, ReplyKey, WorkerSet
from curator_streaming.options import StreamingOptions
from curator_streaming.report import StateReader, describe_bottleneck, progress_line, summary_lines
from curator_streaming.scheduler import actions, events
from curator_streaming.scheduler.core import Scheduler
from curator_streaming.scheduler.resources import GB, Capacity, Device
from curator_streaming.scheduler.settings import Settings
from curator_streaming.scheduler.steps import plan_steps

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

LOG = logging.getLogger("curator_core")

_CHECK_INTERVAL_S = 0.1
_SERVING_CHECK_INTERVAL_S = 0.01
_MIN_WAIT_S = 0.001
_SURVEY_INTERVAL_S = 1.0
_FOREVER_S = 1e9
_LAST_TIMEOUT_S = LAST_TEARDOWN_TIMEOUT_S + 15.0
"""How long the thread may take to end: its workers, and then whatever else it is waiting for."""

_PROGRESS = (events.NodeJoined, events.WorkerUp, events.CallYielded, events.CallDone)
_WARNED_DECISIONS = ("wait", "large", "leak")
_NOTED_DECISIONS = ("leak",)


@dataclass(frozen=True)
class EngineContext:
    """The cluster and the settings that a driver works with."""

    options: StreamingOptions
    settings: Settings
    survey: Survey
    launcher: WorkerLauncher


class Driver:
    """Drives one run on one cluster, in a thread of its own.

    So workers are looked after however slowly the outputs are consumed. The sink's `end` is called
    last of all.
    """

    def __init__(
        self,
        run: "RemoteRun",
        stages: tuple[PlannedStage, ...],
        context: EngineContext,
        sink: OutputSink,
        wakeup: threading.Event,
    ) -> None:
        steps = plan_steps(stages, fuses=not context.settings.has_barriers)
        self._run = run
        self._options = context.options
        self._survey = context.survey
        self._reservations = Reservations(
            lambda node: context.options.usable_cpus(node.cpus),
            is_exclusive=context.survey.is_exclusive,
        )
        self._stages = stages
        self._sink = sink
        self._wakeup = wakeup
        self._node_requests = NodeRequests()
        settings = replace(context.settings, is_autoscaled=context.survey.has_autoscaler)
        self._scheduler = Scheduler(steps, settings)
        self._blocks = BlockTable()
        self._crashes = CrashHistory(run)
        self._results = Results(run, sink)
        self._inbox: Inbox[ReplyKey] = Inbox()
        self._workers = WorkerSet(context.launcher, stages, self._inbox, self._blocks)
        self._events = EventSource(
            run, steps, self._workers, self._blocks, self._results, self._crashes
        )
        self._input: TaskInput = SchedulerSources(
            run, self._blocks, context.launcher.packer, self._crashes
        )
        self._max_wait_s = self._check_interval_s = _CHECK_INTERVAL_S
        self._stalls = StallMonitor(
            run,
            self._workers.busy,
            self._options.stall_warning_s,
            self._options.stall_timeout,
        )
        self._is_serving = False
        self._input_end_sent = False
        self._is_stopping = self._is_overdue = self._is_aborted = False
        self._is_abandoned = False
        self._next_check = self._next_survey = 0.0
        self._next_progress_line = time.monotonic() + self._options.logging_interval
        self._failure: CuratorError | None = None
        self._nodes = NodeUsageMonitor(lambda: self._survey.facts, self._used_nodes)
        self._run.executor_state = StateReader(self._workers, self._scheduler, self._nodes)
        self._thread = threading.Thread(target=self._drive, name="curator-streaming", daemon=True)
        self._handlers: dict[type, Callable[[Any], None]] = {
            actions.StartWorker: self._start_worker,
            actions.StopWorker: self._stop_worker,
            actions.Dispatch: self._dispatch,
            actions.TearDown: lambda a: self._workers.tear_down(a.worker, a.first, a.last),
            actions.Pause: lambda a: self._inbox.pause(self._reply_key(a.call)),
            actions.Resume: lambda a: self._inbox.resume(self._reply_key(a.call)),
            actions.Release: lambda a: self._blocks.release(a.handle),
            actions.RequestSources: self._request_sources,
            actions.ReleaseNode: lambda a: self._reservations.release(a.node),
            actions.RequestNode: self._request_node,
            actions.GiveUp: self._give_up,
            actions.Fail: self._fail,
            actions.Explain: self._explain,
        }

    def serve(
        self, create_input: Callable[[BlockTable, CrashHistory], TaskInput], max_wait_s: float
    ) -> None:
        """Take tasks from callers, who wait for the answers, instead of the run's sources."""
        self._input = create_input(self._blocks, self._crashes)
        self._max_wait_s = max_wait_s
        self._check_interval_s = _SERVING_CHECK_INTERVAL_S
        self._is_serving = True

    def start(self) -> None:
        self._thread.start()

    def finish(self, *, abort: bool) -> None:
        """Wait until every worker has ended; with `abort` they are interrupted."""
        self._is_aborted = self._is_aborted or abort
        self._wakeup.set()
        self._thread.join(_LAST_TIMEOUT_S if self._is_aborted else None)
        if self._thread.is_alive():  # something holds it up, a file system for example
            self._is_abandoned = True
            self._nodes.close()
            self._workers.stop_all()

    def _drive(self) -> None:
        failure: BaseException | None = None
        try:
            for node in self._survey.facts.nodes:
                self._reservations.request(node)
            if not self._survey.is_exclusive:  # a private cluster is this machine
                self._nodes.start()
            while not (self._is_over or self._is_aborted):
                self._turn()
        except BaseException as error:  # noqa: BLE001 - raised again in the consumer's thread
            failure = error
        if self._is_abandoned:  # Ray has been shut down and would end this process
            return
        try:
            self._stalls.close()
            self._nodes.close()
            self._node_requests.withdraw()
            is_hurried = self._run.stopping.is_requested
            self._workers.stop_all(FORCED_STOP_S if is_hurried else LAST_TEARDOWN_TIMEOUT_S)
            self._reservations.close()
            self._report_summary()
        except BaseException as error:  # noqa: BLE001 - as above; the first error says more
            failure = failure or error
        self._sink.end(failure)

    @property
    def _is_over(self) -> bool:
        return self._scheduler.is_over and self._results.is_empty

    def _turn(self) -> None:
        for node, cpus in self._reservations.granted():
            capacity = _capacity(node, cpus)
            pending = len(self._reservations.expected())
            self._add_event(events.NodeJoined(_now(), node.node_id, capacity, pending))
        self._offer_sources()
        self._perform(self._scheduler.handle(self._take_events()))
        if self._is_over and not self._failure:
            return
        for reply in self._receive():
            self._events.handle(reply)
        if self._events.suspects_lost_node:
            self._events.suspects_lost_node = False
            self._survey_nodes(_now())
        self._results.settle()
        if failure := self._failure or self._events.failure:
            raise failure
        self._rerun_sources()
        self._check()

    def _receive(self) -> list[Received[ReplyKey]]:
        """Return the replies that have come; wait for them a little, or until woken up."""
        if self._has_events:
            return self._inbox.take(0.0)
        if self._inbox.is_empty:
            is_idle = self._scheduler.is_idle
            self._wakeup.wait(_CHECK_INTERVAL_S if is_idle else self._check_interval_s)
            self._wakeup.clear()
            return []
        wait_s = min(self._max_wait_s, self._check_at - _now())
        return self._inbox.take(max(wait_s, _MIN_WAIT_S))

    # Events for the scheduler

    def _add_event(self, event: events.Event) -> None:
        self._events.pending.append(event)

    def _take_events(self) -> list[events.Event]:
        pending, self._events.pending = self._events.pending, []
        if any(isinstance(event, _PROGRESS) for event in pending):
            self._stalls.note_progress()
        if self._results.consumed_bytes:
            pending.append(events.Delivered(_now(), self._results.consumed_bytes))
            self._results.consumed_bytes = 0
            self._stalls.note_progress()
        return pending

    @property
    def _has_events(self) -> bool:
        return bool(self._events.pending or self._input.is_ready or self._results.consumed_bytes)

    def _offer_sources(self) -> None:
        if self._input.is_ready:
            blocks = self._input.take()
            if blocks:
                self._add_event(events.SourcesOffered(_now(), tuple(blocks)))
        if self._input.has_ended and not self._input_end_sent:
            self._input_end_sent = True
            self._add_event(events.SourcesEnded(_now()))

    def _rerun_sources(self) -> None:
        """Offer sources again, before any event after which the run might seem to be over."""
        reruns = self._results.reruns
        again = reruns.take()
        if not again:
            return
        void = self._blocks.void_handles(reruns.attempts)
        first: list[events.Event] = [events.BlocksWithdrawn(_now(), void)] if void else []
        if not self._is_stopping:
            first.append(events.SourcesOffered(_now(), tuple(self._input.store(again))))
        self._events.pending[:0] = first

    # Actions of the scheduler

    def _perform(self, todo: list[actions.Action]) -> None:
        for action in todo:
            self._handlers[type(action)](action)

    def _start_worker(self, action: actions.StartWorker) -> None:
        node = self._survey.facts.node(action.node)
        if node is not None:  # else it has just left, which the next survey reports
            self._workers.start(action, node)

    def _stop_worker(self, action: actions.StopWorker) -> None:
        record = self._workers.records.get(action.worker)
        if record is None:
            return
        if action.at_once and not self._is_stopping:
            self._events.kill_worker(record, action.reason)
            return
        if action.at_once:
            record.handle.abort()
        self._workers.stop(record, "stopped", action.reason)

    def _dispatch(self, action: actions.Dispatch) -> None:
        if action.quarantine:
            for part, task_id in self._blocks.single_tasks(action.inputs):
                index = self._stages[action.first].index
                self._crashes.quarantine(index, task_id, self._events.reason_for(part))
        blame = self._crashes.blame_for(self._blocks.source_keys(action.inputs))
        self._workers.dispatch(action, blame)

    def _reply_key(self, call: int) -> ReplyKey:
        for record in self._workers.records.values():
            if call in record.calls:
                return ReplyKey("call", record.number, call)
        return ReplyKey("call", -1, call)

    def _request_sources(self, action: actions.RequestSources) -> None:
        self._input.wanted += action.tasks

    def _request_node(self, action: actions.RequestNode) -> None:
        node = self._survey.facts.node(action.node)
        if node is not None:  # else it has just left, which the next survey reports
            self._reservations.request(node)

    def _give_up(self, action: actions.GiveUp) -> None:
        keys = self._blocks.source_keys([action.task])
        stage = self._stages[action.first]
        self._results.fail_sources(keys, f"its worker {action.reason}", stage)

    def _fail(self, action: actions.Fail) -> None:
        known = None if action.first is None else self._events.setup_errors.get(action.first)
        name = "" if action.first is None else self._stages[action.first].name
        self._failure = known or StageError(
            f"the run cannot continue: {action.reason}; finished work is kept, run it again to "
            "resume",
            stage=name,
        )

    def _explain(self, action: actions.Explain) -> None:
        stage = None if action.first is None else self._stages[action.first].name
        self._run.events.emit(
            "scheduling", decision=action.decision, reason=action.reason, stage=stage
        )
        if action.decision in _WARNED_DECISIONS:
            LOG.warning("streaming: %s", action.reason)
        if action.decision in _NOTED_DECISIONS:
            self._run.result.notes.append(action.reason)

    # Regular checks

    def _used_nodes(self) -> set[str]:
        return {record.node for record in list(self._workers.records.values())}

    @property
    def _check_at(self) -> float:
        return min(self._next_check, self._scheduler.wake_at or _FOREVER_S)

    def _check(self) -> None:
        now = _now()
        if now < self._check_at:
            return
        self._next_check = now + self._check_interval_s
        self._run.tick()
        self._add_event(events.Tick(now))
        self._check_stop_request(now)
        self._check_progress()
        for record in self._workers.check():
            self._events.worker_overdue(record)
        if now >= self._next_survey:
            self._next_survey = now + _SURVEY_INTERVAL_S
            self._survey_nodes(now)
        if now >= self._next_progress_line:
            self._next_progress_line = now + self._options.logging_interval
            workers = len(self._workers.records)
            LOG.info("streaming: %s", progress_line(self._scheduler.summary(), workers))

    def _check_progress(self) -> None:
        is_waiting = self._scheduler.is_idle or self._scheduler.waits_for_nodes
        if is_waiting or not self._results.is_empty:
            self._stalls.note_progress()  # for sources, nodes or the consumer
        else:
            self._failure = self._failure or self._stalls.check()

    def _check_stop_request(self, now: float) -> None:
        stopping = self._run.stopping
        if stopping.is_requested and not self._is_stopping:
            self._is_stopping = True
            self._input.wanted = 0
            self._add_event(events.StopRequested(now, now + _FOREVER_S))
        if stopping.is_overdue and not self._is_overdue:
            self._is_overdue = True
            self._workers.hurry()
            self._add_event(events.StopRequested(now, now))
            self._add_event(events.Tick(now))

    def _survey_nodes(self, now: float) -> None:
        changes = self._survey.changes()
        self._node_requests.drop_met()
        for node in changes.left:
            self._reservations.release(node.node_id)
            self._events.node_lost(node.node_id)
            self._add_event(events.NodeLost(now, node.node_id, f"{node.name} left the cluster"))
        for node in changes.joined:
            self._reservations.request(node)
        if self._survey.has_autoscaler and not self._reservations.expected():
            wanted = self._scheduler.wanted_workers
            sizes = {need.resources: count for need, count in wanted.items()}
            known = [node.node_id for node in self._survey.facts.nodes]
            self._node_requests.update(sizes, known)

    def _report_summary(self) -> None:
        summary = self._scheduler.summary()
        self._run.events.emit("workers_summed_up", **asdict(summary))
        if self._is_serving:
            return  # it waited for its callers
        for line in summary_lines(summary):
            LOG.info("streaming: %s", line)
        if summary.bottleneck:
            self._run.result.notes.append(describe_bottleneck(summary))


def _capacity(node: NodeFacts, cpus: float) -> Capacity:
    """Describe a node, and the CPUs granted there, to the scheduler."""
    memory = int((node.gpu_memory_gb or 0.0) * GB)
    return Capacity(
        cpus=cpus,
        memory=int(node.memory_gb * GB),
        devices=tuple(Device(str(index), memory) for index in range(int(node.gpus))),
        custom=dict(node.custom),
        labels=dict(node.labels),
        accelerator=node.accelerator,
    )


def _now() -> float:
    return time.monotonic()
