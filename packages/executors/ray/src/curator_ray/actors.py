"""The actor that hosts stages: what `StageWorker` is on a node of a Ray cluster."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import cloudpickle
import ray
from curator_core import AnyTask, NodeInfo, Plan, PlannedStage, Resources, WorkerInfo
from curator_core.errors import AbortedError, CuratorError, StageError, detail_of, reason_of
from curator_core.execution.telemetry import resident_bytes
from curator_core.execution.worker import StageWorker
from curator_core.model.crash_attribution import Blame
from curator_core.model.usage import Timesheet

from curator_ray.answers import Answer, Hello
from curator_ray.logs import Catcher
from curator_ray.parcels import Parcel
from curator_ray.posts import Post, Watchman
from curator_ray.preparing import prepare_once, prepares
from curator_ray.travelling import extend_search_path

Step = tuple[int, int]
"""The first and the last stage (their indices in the plan) that a call goes through."""

Span = tuple[int, int]
"""Which tasks of a parcel a call is about: from, and up to."""

FLOW_AFTER_S = 0.25
FLOW_AFTER_BYTES = 8 << 20
_AHEAD = 4
"""How many objects of a flow, answers and parcels in turn, may wait to be taken."""


@dataclass(frozen=True)
class Assignment:
    """What a worker is told when it starts, besides the plan."""

    worker_id: str
    folder: str
    run_token: str
    granted: Resources
    search_path: list[str]


class StageHost:
    """Runs any stages of a plan; each is set up at its first call, and torn down in any case.

    Whatever a stage does, nothing is raised: what ends the run stands in the answer.
    """

    def __init__(self, assignment: Assignment, packed_plan: bytes) -> None:
        self._assignment = assignment
        self._packed_plan = packed_plan
        self._catcher = Catcher()
        self._catcher.install()
        # Ray would raise SystemExit in the midst of a stage, as if that had ended itself.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # what it starts may need it
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
        node_id, gpu_ids = _whereabouts()
        if not gpu_ids:  # Ray leaves all of them visible to whoever asked for none
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._info = WorkerInfo(
            assignment.worker_id,
            NodeInfo(node_id),
            assignment.granted,
            assignment.run_token,
            gpu_ids,
        )
        self._post = Post(assignment.folder, node_id, assignment.worker_id)
        self._watchman = Watchman(self._post)
        self._plan: Plan | None = None
        self._set_up: dict[int, StageWorker] = {}
        self._lines: dict[Step, StageWorker] = {}
        self._has_ended = False
        self._idle_since = time.perf_counter()
        self._timesheet = Timesheet()

    def hello(self) -> Hello:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return Hello(self._info.node.node_id, os.getpid(), self._info.gpu_ids, visible)

    def prepare(self, step: Step) -> Answer:
        """Set up the stages of a step before there is anything to do for them."""
        answer = Answer()
        started = time.perf_counter()
        try:
            self._ready(step)
        except (CuratorError, AbortedError) as error:
            _break_off(answer, error)
        self._idle_since = time.perf_counter()
        answer.setup_seconds = self._idle_since - started
        return self._sealed(answer)

    @ray.method(num_returns=2)
    def run(
        self, step: Step, blame: Blame | None, spans: Sequence[Span], *parcels: Parcel
    ) -> tuple[Answer, Parcel | None]:
        """Push tasks through a step. Two returns: the answer, and the outputs."""
        parcel = None
        started = time.perf_counter()
        answer = Answer(waited=started - self._idle_since)
        try:
            line = self._ready(step)
            answer.setup_seconds = time.perf_counter() - started
            call = line.call(_unpacked(spans, parcels), blame)
            outputs = list(call.outputs())
            answer.report = call.report
            parcel = _packed(outputs, answer, line.stages[-1])
        except (CuratorError, AbortedError) as error:
            _break_off(answer, error)
        self._idle_since = time.perf_counter()
        answer.seconds = self._idle_since - started - answer.setup_seconds
        return self._sealed(answer), parcel

    @ray.method(_generator_backpressure_num_objects=_AHEAD)
    def flow(
        self, step: Step, blame: Blame | None, spans: Sequence[Span], *parcels: Parcel
    ) -> Iterator[Answer | Parcel | None]:
        """The same for stages that give much: an answer, its parcel, an answer, its parcel, …

        The last answer has the report, and no outputs. Whoever takes no more holds the stage up.
        """
        started = told = time.perf_counter()
        answer = Answer(waited=started - self._idle_since)
        try:
            line = self._ready(step)
            answer.setup_seconds = told - started
            call = line.call(_unpacked(spans, parcels), blame)
            with closing(call.outputs()) as outputs:
                for batch in _batches(outputs):
                    now = time.perf_counter()
                    part = Answer(seconds=now - told)
                    parcel = _packed(batch, part, line.stages[-1])
                    yield self._sealed(part)
                    yield parcel
                    told = time.perf_counter()
            answer.report = call.report
        except (CuratorError, AbortedError) as error:
            _break_off(answer, error)
        self._idle_since = time.perf_counter()
        answer.seconds = self._idle_since - told
        yield self._sealed(answer)
        yield None

    def drop(self, stage_index: int) -> Answer:
        """Tear one stage down, to make room for others."""
        worker = self._set_up.pop(stage_index, None)
        if worker is not None:
            worker.teardown()
            self._lines = {k: v for k, v in self._lines.items() if not k[0] <= stage_index <= k[1]}
        return self._sealed(Answer())

    def end(self) -> Answer:
        """Tear everything down, last stage first. The worker is of no use afterwards."""
        answer = Answer()
        if not self._has_ended:
            self._has_ended = True
            for index in sorted(self._set_up, reverse=True):
                self._set_up.pop(index).teardown()
            answer = self._sealed(answer, is_last=True)
            self._watchman.leave()
        return answer

    __ray_shutdown__ = end
    """What Ray calls where nobody holds the worker any more."""

    def _ready(self, step: Step) -> StageWorker:
        """The line of stages for a step, all of them set up."""
        if step in self._lines:
            return self._lines[step]
        plan = self._loaded_plan()
        stages = plan.steps_between(*step)
        for planned in stages:
            if planned.index not in self._set_up:
                self._set_up_stage(plan, planned)
        line = self._lines[step] = StageWorker(
            plan, self._info, stages, self._watchman, self._timesheet
        )
        return line

    def _set_up_stage(self, plan: Plan, planned: PlannedStage) -> None:
        worker = StageWorker(plan, self._info, [planned], self._watchman, self._timesheet)
        if prepares(planned):
            self._watchman.begin(planned.index, (), planned.policy.setup_timeout_s)
            try:
                prepare_once(self._post.node_folder, planned, worker.setup_on_node)
            finally:
                self._watchman.end()
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

    def _sealed(self, answer: Answer, *, is_last: bool = False) -> Answer:
        answer.lines = self._catcher.take()
        answer.output = self._watchman.take_output(is_last=is_last)
        answer.rss_bytes = resident_bytes()
        return answer


class StageActor(StageHost):
    """What Ray is given. It disassembles a class that it exports, but not those it inherits from.

    That would take 40 ms of the driver, at the start of every run.
    """


def _unpacked(spans: Sequence[Span], parcels: Sequence[Parcel]) -> list[AnyTask]:
    tasks: list[AnyTask] = []
    for (start, stop), parcel in zip(spans, parcels, strict=True):
        tasks += parcel.open(start, stop)
    return tasks


def _packed(outputs: list[AnyTask], answer: Answer, last: PlannedStage) -> Parcel:
    """Pack outputs; what cannot be packed is the mistake of the stage that made it."""
    answer.task_ids = [task.task_id for task in outputs]
    answer.sources = [tuple(task.lineage) for task in outputs]
    try:
        parcel = Parcel.of(outputs)
    except Exception as error:
        raise StageError(
            f"stage {last.name!r} gave a task that cannot leave its worker process, for it cannot "
            f"be pickled ({reason_of(error)}); give plain data, or run with "
            "LocalExecutor(workers=0)",
            stage=last.name,
        ) from error
    answer.nbytes = parcel.nbytes if outputs else 0
    return parcel


def _break_off(answer: Answer, error: CuratorError | AbortedError) -> None:
    answer.report = None
    answer.nbytes, answer.task_ids, answer.sources = 0, [], []
    if isinstance(error, CuratorError):
        answer.error = error
    else:
        answer.broken_off = True


def _batches(outputs: Iterator[AnyTask]) -> Iterator[list[AnyTask]]:
    """Outputs as they come, a few together; the first one is not kept waiting."""
    batch: list[AnyTask] = []
    size, sent = 0, 0.0
    for output in outputs:
        batch.append(output)
        size += output.num_bytes
        del output
        if size > FLOW_AFTER_BYTES or time.perf_counter() - sent > FLOW_AFTER_S:
            yield batch
            batch, size, sent = [], 0, time.perf_counter()
    if batch:
        yield batch


def _whereabouts() -> tuple[str, tuple[str, ...]]:
    context = ray.get_runtime_context()
    return context.get_node_id(), tuple(context.get_accelerator_ids().get("GPU", ()))
