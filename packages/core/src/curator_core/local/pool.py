"""Worker pool: each process runs the whole pipeline for one source at a time."""

import time
from collections import Counter, deque
from collections.abc import Iterator
from multiprocessing.connection import wait

from curator_core.errors import StageError
from curator_core.local.child import KILLED_FROM_OUTSIDE, Child, death_of, wait_for_ends
from curator_core.local.ipc import Failed, Given, Prepared, PrepareNode, Ready, Work, packed_plan
from curator_core.local.machine import visible_gpus
from curator_core.local.memory_kills import MemoryKills
from curator_core.local.pickling import Luggage
from curator_core.local.watchdog import Guard
from curator_core.model.crash_attribution import FROM_OUTSIDE
from curator_core.model.lineage import source_of
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.resources import WorkerInfo
from curator_core.model.snapshot import Workshop
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Run
from curator_core.plan.plan import Plan

LOOK_EVERY_S = 0.1
SHORT_WORK_S = 0.1
"""A worker whose last source took at most this long gets the next one in advance."""

STARTS_BEFORE_GIVING_UP = 3
KILLED_STARTS_BEFORE_GIVING_UP = 30
"""Higher, because a kill from outside while a worker starts need not be the stages' fault."""

KILLED_SETUPS_BEFORE_GIVING_UP = 6
"""Lower than for starts, because a setup may cause the kill, for example by memory use."""


def refuse_what_cannot_travel(plan: Plan) -> None:
    """Raise if a stage cannot be pickled, before any worker is started."""
    luggage = Luggage()
    try:
        luggage.pack_for(plan)
        packed_plan(plan, (), WorkerInfo())
    finally:
        luggage.unpack()


class Pool:
    """Gives sources to workers and collects their results."""

    def __init__(self, plan: Plan, run: Run, size: int) -> None:
        self._plan = plan
        self._run = run
        self._size = size
        self._indices = [planned.index for planned in run.worker_stages]
        self._sources = run.sources()
        self._has_more = True
        self._again: deque[AnyTask] = deque()
        self._unexplained: dict[str, float] = {}
        self._children: list[Child] = []
        self._started = 0
        self._failed_starts = 0
        self._doubt = 0.0
        """How much of the tolerance for failed starts is used up; 1 ends the run."""

        self._node_is_ready = not _prepares_nodes(run)
        self._memory_kills = MemoryKills()
        self._preparing: Child | None = None
        self._guard: Guard | None = None
        self._luggage = Luggage()

    def outputs(self) -> Iterator[AnyTask]:
        """Yield the pipeline's outputs as they arrive; closing the generator ends the workers."""
        at_once = True
        self._luggage.pack_for(self._plan)
        self._run.workshop = self._workshop
        try:
            while self._feed():
                for child in self._that_spoke():
                    yield from self._listen(child)
                self._look_after()
                if self._run.stopping.is_overdue:
                    return
            at_once = False
        finally:
            self._end(at_once=at_once)

    def _workshop(self) -> Workshop:
        """Return the workers' states and stages; nothing is queued between stages."""
        states = Counter(child.state for child in self._children)
        notes = (child.board.note() for child in self._children)
        at_work = Counter(note.stage_index for note in notes if note is not None)
        return Workshop(states, {}, at_work)

    def _end(self, *, at_once: bool) -> None:
        try:
            for child in self._children:
                child.ask_to_end(at_once=at_once)
            wait_for_ends(self._children)
        finally:
            if self._guard:
                self._guard.dismiss()
            self._luggage.unpack()

    # Giving work

    def _feed(self) -> bool:
        """Give work to idle workers; return False if nothing is left to do or wait for."""
        while (child := self._next_to_feed()) is not None:
            source = self._next_source()
            if source is None:
                break
            if child == _NEW:
                child = self._start()
            assert isinstance(child, Child)
            self._luggage.pack([type(source).__module__])
            child.give(Work(source, self._run.blame(source)))
        return any(child.given for child in self._children)

    def _next_to_feed(self) -> "Child | str | None":
        idle = next((child for child in self._children if not child.given), None)
        if idle is not None:
            return idle
        if len(self._children) < self._size:
            return _NEW
        quick = (c for c in self._children if len(c.given) == 1 and c.last_work_s < SHORT_WORK_S)
        return next(quick, None)

    def _next_source(self) -> AnyTask | None:
        if self._run.stopping.is_asked:
            return None
        if self._again:
            return self._again.popleft()
        if self._has_more:
            source = next(self._sources, None)
            self._has_more = source is not None
            return source
        return None

    def _start(self) -> Child:
        if self._guard is None:
            self._guard = Guard()
        worker_id = str(self._started)
        gpus = visible_gpus()
        mine = gpus[self._started % len(gpus)] if gpus else None
        info = WorkerInfo(worker_id, run_token=self._run.token, gpu_ids=(mine,) if mine else ())
        packed = packed_plan(self._plan, self._indices, info)
        child = Child(worker_id, self._size, self._guard, mine)
        self._started += 1
        self._children.append(child)
        child.tell_packed(packed)
        if self._node_is_ready:
            child.set_up()
        else:
            self._prepare_node(child)
        return child

    def _prepare_node(self, child: Child) -> None:
        """Let one worker prepare the node; the others are set up afterwards."""
        if self._preparing is None or self._preparing not in self._children:
            self._preparing = child
            child.tell(PrepareNode())

    # Taking results

    def _that_spoke(self) -> list[Child]:
        by_connection = {child.connection: child for child in self._children}
        spoke = wait(list(by_connection), LOOK_EVERY_S)
        return [by_connection[connection] for connection in spoke]  # type: ignore[index]

    def _listen(self, child: Child) -> Iterator[AnyTask]:
        try:
            message = child.receive()
        except (EOFError, OSError):
            child.is_gone = True
            return
        if isinstance(message, Given):
            yield from self._take(child, message)
        elif isinstance(message, Ready):
            child.ready()
            self._failed_starts, self._doubt = 0, 0.0
        elif isinstance(message, Prepared):
            self._node_is_ready = True
            self._preparing = None
            for waiting in self._children:
                waiting.set_up()
        elif isinstance(message, Failed):
            raise message.error

    def _take(self, child: Child, given: Given) -> Iterator[AnyTask]:
        for output in given.outputs:
            yield from self._run.deliver(output)
        if given.counts is not None:
            self._run.under_way[child.worker_id] = given.counts
        if given.report is not None:
            work = child.finished()
            self._run.under_way.pop(child.worker_id, None)
            self._unexplained.pop(source_of(work.source.lineage), None)
            yield from self._run.absorb(given.report, [work.source])

    # Workers that die or hang

    def _look_after(self) -> None:
        self._run.tick()
        for child in list(self._children):
            now = time.monotonic()
            note = child.board.note()
            if note is not None and note.is_overdue(now) and not child.verdict:
                child.condemn(note.verdict)
            elif child.is_gone or not (child.is_alive or child.connection.poll()):
                self._replace(child)

    def _replace(self, child: Child) -> None:
        """Record the death of a worker, and give its work to others."""
        reason = child.verdict or death_of(child, self._memory_kills)
        child.kill()
        note = child.board.note()
        self._run.worker_gone(child.worker_id, reason, note.stage_index if note else None)
        self._run.under_way.pop(child.worker_id, None)
        self._children.remove(child)
        if child is self._preparing and self._children:
            self._prepare_node(self._children[0])
        try:
            self._hand_on_work(child, reason)
        finally:
            child.bury()

    def _hand_on_work(self, child: Child, reason: str) -> None:
        doomed: set[str] = set()
        if not child.is_ready:
            self._count_failed_start(child, reason)
        elif child.given and self._is_beyond_blame(child, reason):
            doomed.add(source_of(child.given[0].source.lineage))
        for work in child.given:
            self._give_again(source_of(work.source.lineage), reason, doomed)

    def _is_beyond_blame(self, child: Child, reason: str) -> bool:
        """Blame the running tasks; return whether to fail the source.

        It fails if its workers died too often while no task was running.
        """
        source = child.given[0].source
        source_id = source_of(source.lineage)
        note = child.board.note()
        weight = FROM_OUTSIDE if reason in KILLED_FROM_OUTSIDE else 1.0
        if note is None:
            deaths = self._unexplained.get(source_id, 0.0) + weight
            self._unexplained[source_id] = deaths
            return deaths > ATTEMPTS_BEFORE_QUARANTINE
        blame = self._run.blame(source)
        if note.complete:
            blame.charge(note.stage_index, note.task_ids, f"its worker {reason}", weight)
        else:
            blame.suspect_all(note.stage_index)
        return False

    def _give_again(self, source_id: str, reason: str, doomed: set[str]) -> None:
        for source in self._run.again(source_id, reason):
            if source_of(source.lineage) in doomed:
                first = self._run.worker_stages[0]
                self._run.give_up(source_of(source.lineage), f"its worker {reason}", first)
            else:
                self._again.append(source)

    def _count_failed_start(self, child: Child, reason: str) -> None:
        note = child.board.note()
        is_killed = reason in KILLED_FROM_OUTSIDE
        limit = STARTS_BEFORE_GIVING_UP
        if is_killed:
            limit = KILLED_SETUPS_BEFORE_GIVING_UP if note else KILLED_STARTS_BEFORE_GIVING_UP
        self._failed_starts += 1
        self._doubt += 1 / limit
        if self._doubt < _SURE:
            return
        stage = self._plan.stages[note.stage_index].name if note else ""
        at = f" while stage {stage!r} was being set up" if stage else ""
        way_out = (
            "look for what kills processes on this machine: lack of memory, or a limit of its "
            "container or job"
            if is_killed
            else "try LocalExecutor(workers=0) to see what happens"
        )
        raise StageError(
            f"{self._failed_starts} workers in a row did not come up: the last one {reason}{at}; "
            f"{way_out}",
            stage=stage,
        )


_SURE = 1 - 1e-6
_NEW = "a new worker"


def _prepares_nodes(run: Run) -> bool:
    plain = ProcessingStage.setup_on_node
    return any(type(p.stage).setup_on_node is not plain for p in run.worker_stages)
