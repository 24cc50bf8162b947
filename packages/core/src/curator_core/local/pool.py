"""Worker pool: each process runs the whole pipeline for one source at a time."""

import time
from collections import Counter, deque
from collections.abc import Iterator
from multiprocessing.connection import wait

from curator_core.errors import StageError
from curator_core.local.ipc import Failed, Outputs, Prepared, PrepareNode, Ready, Work, pack_plan
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.pickling import ByValueModules
from curator_core.local.worker_cache import WorkerCache
from curator_core.local.worker_process import KILLED_FROM_OUTSIDE, WorkerProcess, death_reason
from curator_core.model.crash_attribution import OUTSIDE_KILL_WEIGHT
from curator_core.model.hardware import visible_gpus
from curator_core.model.lineage import source_of
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.resources import WorkerInfo
from curator_core.model.snapshot import ExecutorState
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Run
from curator_core.plan.plan import Plan

POLL_S = 0.1
SHORT_WORK_S = 0.1
"""A worker whose last source took at most this long gets the next one in advance."""

STARTS_BEFORE_GIVING_UP = 3
KILLED_STARTS_BEFORE_GIVING_UP = 30
"""Higher, because a kill from outside while a worker starts need not be the stages' fault."""

KILLED_SETUPS_BEFORE_GIVING_UP = 6
"""Lower than for starts, because a setup may cause the kill, for example by memory use."""


def refuse_unpicklable_stages(plan: Plan) -> None:
    """Raise if a stage cannot be pickled, before any worker is started."""
    by_value = ByValueModules()
    try:
        by_value.register_plan(plan)
        pack_plan(plan, (), WorkerInfo())
    finally:
        by_value.unregister()


class WorkerPool:
    """Gives sources to workers and collects their results."""

    def __init__(self, plan: Plan, run: Run, size: int, cache: WorkerCache) -> None:
        self._plan = plan
        self._run = run
        self._size = size
        self._cache = cache
        self._indices = [planned.index for planned in run.worker_stages]
        self._sources = run.sources()
        self._has_more = True
        self._to_restart: deque[AnyTask] = deque()
        self._unexplained: dict[str, float] = {}
        self._workers: list[WorkerProcess] = []
        self._started = 0
        self._failed_starts = 0
        self._failed_start_share = 0.0
        """How much of the tolerance for failed starts is used up; 1 ends the run."""

        self._node_is_ready = not _prepares_nodes(run)
        self._memory_kills = MemoryKills()
        self._preparing: WorkerProcess | None = None
        self._by_value = ByValueModules()

    def outputs(self) -> Iterator[AnyTask]:
        """Yield the pipeline's outputs as they arrive; closing the generator ends the workers."""
        at_once = True
        self._by_value.register_plan(self._plan)
        self._run.executor_state = self._executor_state
        try:
            while self._assign_work():
                for worker in self._workers_with_messages():
                    yield from self._receive(worker)
                self._check_workers()
                if self._run.stopping.is_overdue:
                    return
            at_once = False
        finally:
            self._end(at_once=at_once)

    def _executor_state(self) -> ExecutorState:
        """Return the workers' states and stages; nothing is queued between stages."""
        states = Counter(worker.state for worker in self._workers)
        notes = (worker.status.note() for worker in self._workers)
        at_work = Counter(note.stage_index for note in notes if note is not None)
        return ExecutorState(states, {}, at_work)

    def _end(self, *, at_once: bool) -> None:
        try:
            self._cache.end(self._workers, at_once=at_once)
        finally:
            self._by_value.unregister()

    # Giving work

    def _assign_work(self) -> bool:
        """Give work to idle workers; return False if nothing is left to do or wait for."""
        while (worker := self._next_worker()) is not None:
            source = self._next_source()
            if source is None:
                break
            if worker == _NEW:
                worker = self._start()
            assert isinstance(worker, WorkerProcess)
            self._by_value.register([type(source).__module__])
            worker.assign(Work(source, self._run.blame(source)))
        return any(worker.assigned for worker in self._workers)

    def _next_worker(self) -> "WorkerProcess | str | None":
        idle = next((worker for worker in self._workers if not worker.assigned), None)
        if idle is not None:
            return idle
        if len(self._workers) < self._size:
            return _NEW
        quick = (c for c in self._workers if len(c.assigned) == 1 and c.last_work_s < SHORT_WORK_S)
        return next(quick, None)

    def _next_source(self) -> AnyTask | None:
        if self._run.stopping.is_requested:
            return None
        if self._to_restart:
            return self._to_restart.popleft()
        if self._has_more:
            source = next(self._sources, None)
            self._has_more = source is not None
            return source
        return None

    def _start(self) -> WorkerProcess:
        worker_id = str(self._started)
        gpus = visible_gpus()
        mine = gpus[self._started % len(gpus)] if gpus else None
        info = WorkerInfo(worker_id, run_token=self._run.token, gpu_ids=(mine,) if mine else ())
        packed = pack_plan(self._plan, self._indices, info)
        worker = self._cache.start(worker_id, self._size, mine)
        self._started += 1
        self._workers.append(worker)
        worker.send_packed(packed)
        if self._node_is_ready:
            worker.set_up()
        else:
            self._prepare_node(worker)
        return worker

    def _prepare_node(self, worker: WorkerProcess) -> None:
        """Let one worker prepare the node; the others are set up afterwards."""
        if self._preparing is None or self._preparing not in self._workers:
            self._preparing = worker
            worker.send(PrepareNode())

    # Taking results

    def _workers_with_messages(self) -> list[WorkerProcess]:
        by_connection = {worker.connection: worker for worker in self._workers}
        spoke = wait(list(by_connection), POLL_S)
        return [by_connection[connection] for connection in spoke]  # type: ignore[index]

    def _receive(self, worker: WorkerProcess) -> Iterator[AnyTask]:
        try:
            message = worker.receive()
        except (EOFError, OSError):
            worker.has_hung_up = True
            return
        if isinstance(message, Outputs):
            yield from self._apply_outputs(worker, message)
        elif isinstance(message, Ready):
            worker.mark_ready()
            self._failed_starts, self._failed_start_share = 0, 0.0
        elif isinstance(message, Prepared):
            self._node_is_ready = True
            self._preparing = None
            for waiting in self._workers:
                waiting.set_up()
        elif isinstance(message, Failed):
            raise message.error

    def _apply_outputs(self, worker: WorkerProcess, given: Outputs) -> Iterator[AnyTask]:
        for output in given.outputs:
            yield from self._run.add_output(output)
        if given.counts is not None:
            self._run.counts_in_progress[worker.worker_id] = given.counts
        if given.report is not None:
            work = worker.finish_oldest()
            self._run.counts_in_progress.pop(worker.worker_id, None)
            self._unexplained.pop(source_of(work.source.lineage), None)
            yield from self._run.apply_report(given.report, [work.source])

    # Workers that die or hang

    def _check_workers(self) -> None:
        self._run.tick()
        for worker in list(self._workers):
            now = time.monotonic()
            note = worker.status.note()
            if note is not None and note.is_overdue(now) and not worker.kill_reason:
                worker.kill_because(note.kill_reason)
            elif worker.has_hung_up or not (worker.is_alive or worker.connection.poll()):
                self._replace(worker)

    def _replace(self, worker: WorkerProcess) -> None:
        """Record the death of a worker, and give its work to others."""
        reason = worker.kill_reason or death_reason(worker, self._memory_kills)
        worker.kill()
        note = worker.status.note()
        self._run.record_worker_loss(worker.worker_id, reason, note.stage_index if note else None)
        self._run.counts_in_progress.pop(worker.worker_id, None)
        self._workers.remove(worker)
        if worker is self._preparing and self._workers:
            self._prepare_node(self._workers[0])
        try:
            self._reassign_work(worker, reason)
        finally:
            worker.close()

    def _reassign_work(self, worker: WorkerProcess, reason: str) -> None:
        failed_ids: set[str] = set()
        if not worker.is_ready:
            self._count_failed_start(worker, reason)
        elif worker.assigned and self._blame_tasks(worker, reason):
            failed_ids.add(source_of(worker.assigned[0].source.lineage))
        for work in worker.assigned:
            self._restart_sources(source_of(work.source.lineage), reason, failed_ids)

    def _blame_tasks(self, worker: WorkerProcess, reason: str) -> bool:
        """Blame the running tasks; return whether to fail the source.

        It fails if its workers died too often while no task was running.
        """
        source = worker.assigned[0].source
        source_id = source_of(source.lineage)
        note = worker.status.note()
        weight = OUTSIDE_KILL_WEIGHT if reason in KILLED_FROM_OUTSIDE else 1.0
        if note is None:
            deaths = self._unexplained.get(source_id, 0.0) + weight
            self._unexplained[source_id] = deaths
            return deaths > ATTEMPTS_BEFORE_QUARANTINE
        blame = self._run.blame(source)
        if note.complete:
            blame.record_crash(note.stage_index, note.task_ids, f"its worker {reason}", weight)
        else:
            blame.suspect_all(note.stage_index)
        return False

    def _restart_sources(self, source_id: str, reason: str, failed_ids: set[str]) -> None:
        for source in self._run.restart_source(source_id, reason):
            if source_of(source.lineage) in failed_ids:
                first = self._run.worker_stages[0]
                self._run.fail_source(source_of(source.lineage), f"its worker {reason}", first)
            else:
                self._to_restart.append(source)

    def _count_failed_start(self, worker: WorkerProcess, reason: str) -> None:
        note = worker.status.note()
        is_killed = reason in KILLED_FROM_OUTSIDE
        limit = STARTS_BEFORE_GIVING_UP
        if is_killed:
            limit = KILLED_SETUPS_BEFORE_GIVING_UP if note else KILLED_STARTS_BEFORE_GIVING_UP
        self._failed_starts += 1
        self._failed_start_share += 1 / limit
        if self._failed_start_share < _ALL_TOLERANCE:
            return
        stage = self._plan.stages[note.stage_index].name if note else ""
        at = f" while stage {stage!r} was being set up" if stage else ""
        remedy = (
            "look for what kills processes on this machine: lack of memory, or a limit of its "
            "container or job"
            if is_killed
            else "try LocalExecutor(workers=0) to see what happens"
        )
        raise StageError(
            f"{self._failed_starts} workers in a row failed to start: the last one {reason}{at}; "
            f"{remedy}",
            stage=stage,
        )


_ALL_TOLERANCE = 1 - 1e-6
_NEW = "a new worker"


def _prepares_nodes(run: Run) -> bool:
    plain = ProcessingStage.setup_on_node
    return any(
        type(part.stage).setup_on_node is not plain for p in run.worker_stages for part in p.parts
    )
