"""The actor that runs stages on a node."""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import cloudpickle
import ray
from curator_core import (
    AnyTask,
    NodeInfo,
    Plan,
    PlannedStage,
    ProcessingStage,
    StageWorker,
    WorkerInfo,
)
from curator_core.errors import AbortedError, CuratorError, StageError, detail_of, reason_of
from curator_core.execution.telemetry import resident_bytes
from curator_core.model.crash_attribution import Blame
from curator_core.model.usage import Timesheet

from curator_ray.compat import SHUTDOWN_METHOD, limit_stream
from curator_ray.transfer.modules import extend_search_path
from curator_ray.transfer.packing import PackedTasks
from curator_ray.worker.activity import StackDumper
from curator_ray.worker.messages import Assignment, CallResult, Span, StageRange, WorkerLocation
from curator_ray.worker.output import LogCapture
from curator_ray.worker.status_files import StatusFiles, StatusWriter

STREAM_AFTER_S = 0.25
STREAM_AFTER_BYTES = 8 << 20
_STREAM_AHEAD = 4
"""Objects of a stream (results and outputs in turn) that may wait for the driver."""


class StageRunner:
    """Runs any stages of a plan. Each is set up at its first call, and always torn down.

    No method raises, whatever a stage does: an error that ends the run is part of the result.
    """

    def __init__(self, assignment: Assignment, packed_plan: bytes) -> None:
        self._assignment = assignment
        self._packed_plan = packed_plan
        self._logs = LogCapture()
        self._logs.install()
        if os.getpgrp() != os.getpid():  # Ray 2.56 leaves it in the driver's group
            os.setpgid(0, 0)  # so that signals to that group do not end it
        # Ray's handler would raise SystemExit inside a stage, as if the stage had called it.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # for its child processes
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
        node_id, gpu_ids = _node_and_gpus()
        if not gpu_ids:  # Ray leaves every GPU visible to an actor that asked for none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._info = WorkerInfo(
            assignment.worker_id,
            NodeInfo(node_id),
            assignment.granted,
            assignment.run_token,
            gpu_ids,
        )
        self._files = StatusFiles(assignment.folder, node_id, assignment.worker_id)
        self._status = StatusWriter(self._files)
        self._stack_dumper = StackDumper(self._files)
        self._plan: Plan | None = None
        self._set_up: dict[int, StageWorker] = {}
        self._workers: dict[StageRange, StageWorker] = {}
        self._has_ended = False
        self._idle_since = time.perf_counter()
        self._timesheet = Timesheet()

    def ping(self) -> WorkerLocation:
        """Answer after the calls before it."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return WorkerLocation(self._info.node.node_id, os.getpid(), self._info.gpu_ids, visible)

    def set_up(self, step: StageRange) -> CallResult:
        """Set up the stages of a step before there are tasks for them."""
        result = CallResult()
        started = time.perf_counter()
        try:
            self._worker_for(step)
        except (CuratorError, AbortedError) as error:
            _record_error(result, error)
        self._idle_since = time.perf_counter()
        result.setup_seconds = self._idle_since - started
        return self._completed(result)

    @ray.method(num_returns=2)
    def run(self, request: bytes, *packs: PackedTasks) -> tuple[CallResult, PackedTasks | None]:
        """Run tasks through a step. Ray returns the result and the outputs as two objects.

        The request is a pickled step, blame and spans, which select the tasks of each pack.
        """
        step, blame, spans = _loads(request)
        outputs = None
        started = time.perf_counter()
        result = CallResult(idle_seconds=started - self._idle_since)
        try:
            worker = self._worker_for(step)
            result.setup_seconds = time.perf_counter() - started
            call = worker.call(_unpack(spans, packs), blame)
            tasks = list(call.outputs())
            result.report = call.report
            outputs = _pack(tasks, result, worker.stages[-1])
        except (CuratorError, AbortedError) as error:
            _record_error(result, error)
        self._idle_since = time.perf_counter()
        result.seconds = self._idle_since - started - result.setup_seconds
        return self._completed(result), outputs

    @limit_stream(_STREAM_AHEAD)
    def stream(
        self, request: bytes, *packs: PackedTasks
    ) -> Iterator[CallResult | PackedTasks | None]:
        """Like `run`, for stages with large outputs: yield a result, its outputs, a result, ...

        The last result has the report and no outputs. The stage waits if the driver takes nothing.
        """
        step, blame, spans = _loads(request)
        started = sent = time.perf_counter()
        result = CallResult(idle_seconds=started - self._idle_since)
        try:
            worker = self._worker_for(step)
            sent = time.perf_counter()
            result.setup_seconds = sent - started
            call = worker.call(_unpack(spans, packs), blame)
            with closing(call.outputs()) as tasks:
                for batch in _batches(tasks):
                    part = CallResult(seconds=time.perf_counter() - sent)
                    outputs = _pack(batch, part, worker.stages[-1])
                    yield self._completed(part)
                    yield outputs
                    sent = time.perf_counter()
            result.report = call.report
        except (CuratorError, AbortedError) as error:
            _record_error(result, error)
        self._idle_since = time.perf_counter()
        result.seconds = self._idle_since - sent
        yield self._completed(result)
        yield None

    def tear_down(self, stage_index: int) -> CallResult:
        """Tear down one stage, to make room for others."""
        worker = self._set_up.pop(stage_index, None)
        if worker is not None:
            worker.teardown()
            self._workers = {
                step: known
                for step, known in self._workers.items()
                if not step[0] <= stage_index <= step[1]
            }
        return self._completed(CallResult())

    def end(self) -> CallResult:
        """Tear down all stages, the last one first. Call nothing afterwards."""
        result = CallResult()
        if not self._has_ended:
            self._has_ended = True
            for index in sorted(self._set_up, reverse=True):
                self._set_up.pop(index).teardown()
            result = self._completed(result, is_last=True)
            self._stack_dumper.close()
            self._status.remove()
        return result

    def _worker_for(self, step: StageRange) -> StageWorker:
        """The worker for the stages of a step, all of them set up."""
        if step in self._workers:
            return self._workers[step]
        plan = self._loaded_plan()
        stages = plan.steps_between(*step)
        for planned in stages:
            if planned.index not in self._set_up:
                self._set_up_stage(plan, planned)
        worker = self._workers[step] = StageWorker(
            plan, self._info, stages, self._status, self._timesheet
        )
        return worker

    def _set_up_stage(self, plan: Plan, planned: PlannedStage) -> None:
        worker = StageWorker(plan, self._info, [planned], self._status, self._timesheet)
        if has_node_setup(planned):
            self._status.begin(planned.index, (), planned.policy.setup_timeout_s)
            try:
                set_up_node_once(self._files.node_folder, planned, worker.setup_on_node)
            finally:
                self._status.end()
        worker.setup()
        self._set_up[planned.index] = worker

    def _loaded_plan(self) -> Plan:
        if self._plan is None:
            extend_search_path(self._assignment.search_path)
            try:
                self._plan = cloudpickle.loads(self._packed_plan).plan
            except Exception as error:
                raise StageError(
                    f"a worker on node {self._info.node.node_id[:8]} could not load the pipeline: "
                    f"{reason_of(error)}; is everything it needs installed there?",
                    detail=detail_of(error),
                ) from error
            self._packed_plan = b""
        assert self._plan is not None
        return self._plan

    def _completed(self, result: CallResult, *, is_last: bool = False) -> CallResult:
        """Add what the worker logged and printed, and its memory."""
        result.lines = self._logs.take()
        result.output = self._status.take_output(is_last=is_last)
        result.rss_bytes = resident_bytes()
        return result


setattr(StageRunner, SHUTDOWN_METHOD, StageRunner.end)


def has_node_setup(planned: PlannedStage) -> bool:
    plain = ProcessingStage.setup_on_node
    return any(type(part.stage).setup_on_node is not plain for part in planned.parts)


def set_up_node_once(node_folder: Path, planned: PlannedStage, setup: Callable[[], None]) -> None:
    """Call `setup` unless a worker has done so on this node for this stage; others wait.

    A file lock decides, which the system releases if its holder dies: the next worker then tries.
    """
    handle = os.open(node_folder / f"stage-{planned.index}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.read(handle, 1):
            return
        setup()
        os.write(handle, b"1")
    finally:
        os.close(handle)


def _loads(request: bytes) -> tuple[StageRange, Blame | None, Sequence[Span]]:
    step, blame, spans = cloudpickle.loads(request)
    return step, blame, spans


def _unpack(spans: Sequence[Span], packs: Sequence[PackedTasks]) -> list[AnyTask]:
    tasks: list[AnyTask] = []
    for (start, stop), pack in zip(spans, packs, strict=True):
        tasks += pack.unpack(start, stop)
    return tasks


def _pack(outputs: list[AnyTask], result: CallResult, last: PlannedStage) -> PackedTasks:
    """Pack outputs. If one cannot be pickled, the stage that made it is at fault."""
    result.task_ids = [task.task_id for task in outputs]
    result.sources = [tuple(task.lineage) for task in outputs]
    try:
        packed = PackedTasks.pack(outputs)
    except Exception as error:
        raise StageError(
            f"stage {last.name!r} gave a task that cannot leave its worker process, for it cannot "
            f"be pickled ({reason_of(error)}); give plain data, or run with "
            "LocalExecutor(workers=0)",
            stage=last.name,
        ) from error
    result.nbytes = packed.nbytes if outputs else 0
    return packed


def _record_error(result: CallResult, error: CuratorError | AbortedError) -> None:
    result.report = None
    result.nbytes, result.task_ids, result.sources = 0, [], []
    if isinstance(error, CuratorError):
        result.error = error
    else:
        result.is_aborted = True


def _batches(outputs: Iterator[AnyTask]) -> Iterator[list[AnyTask]]:
    """Group outputs by time and size; the first one is passed on at once."""
    batch: list[AnyTask] = []
    size, sent = 0, 0.0
    for output in outputs:
        batch.append(output)
        size += output.num_bytes
        del output
        if size > STREAM_AFTER_BYTES or time.perf_counter() - sent > STREAM_AFTER_S:
            yield batch
            batch, size, sent = [], 0, time.perf_counter()
    if batch:
        yield batch


def _node_and_gpus() -> tuple[str, tuple[str, ...]]:
    context = ray.get_runtime_context()
    return context.get_node_id(), tuple(context.get_accelerator_ids().get("GPU", ()))
