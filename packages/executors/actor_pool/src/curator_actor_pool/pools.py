"""The actors of a run: started where there is room, and kept as long as they may be needed."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from curator_core import PlannedStage
from curator_core.model.crash_attribution import Blame
from curator_core.model.reports import CallReport
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.inbox import Inbox, Received
from curator_ray.resources import eligible_nodes
from curator_ray.stalls import BusyWorker
from curator_ray.worker.handle import WorkerHandle, WorkerLauncher
from curator_ray.worker.messages import CallResult

from curator_actor_pool.placement import ActorKind, choose_nodes, max_actors_with_others
from curator_actor_pool.stored_tasks import StoredRange, StoredTasks

LOG = logging.getLogger("curator_core")

_TEARDOWN_S = 30.0
"""How long an actor may take to tear down."""

ABORTED_TEARDOWN_S = 15.0
"""The same for a run that is broken off."""

_WARN_START_S = 20.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What a message of an actor is about."""

    kind: Literal["start", "setup", "call", "teardown", "end"]
    actor: int
    call: int = -1


@dataclass(eq=False)
class ActorCall:
    """Tasks that an actor has, and the outputs it has returned so far."""

    number: int
    ranges: list[StoredRange]
    tasks: int
    outputs: list[StoredTasks] = field(default_factory=list)
    nbytes: int = 0
    seconds: float = 0.0

    def add(self, result: CallResult, outputs: Any, node: str) -> CallReport | None:
        """Add a result; return the report if it was the last one."""
        self.seconds += result.seconds
        if len(result):
            self.nbytes += result.nbytes
            self.outputs.append(
                StoredTasks(outputs, result.task_ids, result.sources, result.nbytes, node)
            )
        return result.report


@dataclass(eq=False)
class PoolActor:
    number: int
    handle: WorkerHandle
    node: str
    kind: ActorKind
    calls: dict[int, ActorCall] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)
    """The stages that are set up."""

    setting_up: int | None = None
    is_up: bool = False
    has_warned: bool = False
    end_deadline: float | None = None
    """Set once the actor was asked to end."""

    started: float = field(default_factory=time.monotonic)

    @property
    def state(self) -> str:
        if self.end_deadline is not None:
            return "stopping"
        if not self.is_up:
            return "starting"
        return "busy" if self.calls else "idle"


class ActorPools:
    """All actors of a run, whatever stages they run."""

    def __init__(self, launcher: WorkerLauncher) -> None:
        self.actors: dict[int, PoolActor] = {}
        self.nodes: dict[str, NodeFacts] = {}
        """The nodes that may be used, with the part of them that is ours."""

        self.with_gpus: set[str] = set()
        self.changes = 0
        """Counts what may leave room for another actor."""

        self._inbox: Inbox[Subject] = Inbox()
        self._expected: list[NodeFacts] = []
        self._kinds: dict[int, ActorKind] = {}
        self._launcher = launcher
        self._last_actor = 0
        self._last_call = 0

    def of(self, planned: PlannedStage) -> list[PoolActor]:
        """Return the actors that may run this stage, including those that are starting."""
        kind = self._kind(planned)
        return [a for a in self.actors.values() if a.kind == kind and a.end_deadline is None]

    def ready(self, planned: PlannedStage) -> list[PoolActor]:
        return [actor for actor in self.of(planned) if planned.index in actor.ready]

    def busy(self, planned: PlannedStage) -> list[BusyWorker]:
        """Return the actors with calls, which are all of this stage."""
        actors = [actor for actor in self.actors.values() if actor.calls]
        return [BusyWorker(actor.handle.status_files, planned) for actor in actors]

    def used_nodes(self) -> set[str]:
        return {actor.node for actor in list(self.actors.values())}

    def take_messages(self, timeout_s: float) -> list[Received[Subject]]:
        return self._inbox.take(timeout_s)

    def _kind(self, planned: PlannedStage) -> ActorKind:
        if planned.index not in self._kinds:
            self._kinds[planned.index] = ActorKind.of(planned)
        return self._kinds[planned.index]

    # Start and set up

    def add_node(self, node: NodeFacts) -> None:
        self.nodes[node.node_id] = node
        self.changes += 1

    def expect_nodes(self, nodes: list[NodeFacts]) -> None:
        """Record nodes that are likely to be added in a moment."""
        if nodes != self._expected:
            self._expected = nodes
            self.changes += 1

    def scale(self, planned: PlannedStage, wanted: int, avoided: Iterable[str] = ()) -> None:
        """Have up to `wanted` actors for a stage, or its fixed number, as far as there is room."""
        present = self.of(planned)
        for actor in present:
            self.set_up(actor, planned)
        missing = min(wanted, planned.num_workers or wanted) - len(present)
        if missing <= 0:
            return
        nodes = list(self.nodes.values())
        eligible = eligible_nodes(planned.resources, nodes, self.with_gpus, self._expected)
        names = [name for name in eligible if name not in set(avoided)] or eligible
        per_node = Counter(actor.node for actor in present)
        if sum(self._free(planned, name, per_node) for name in names) < missing:
            self._make_room(planned, names)
        free = {name: self._free(planned, name, per_node) for name in names}
        for name in choose_nodes(missing, free, per_node):
            self._start(planned, self.nodes[name])

    def _free(self, planned: PlannedStage, node: str, present: Counter[str]) -> int:
        kind = self._kind(planned)
        others = [
            actor.kind.resources
            for actor in self.actors.values()
            if actor.node == node and actor.kind != kind and actor.end_deadline is None
        ]
        return max_actors_with_others(planned, self.nodes[node], others) - present[node]

    def _make_room(self, planned: PlannedStage, names: Sequence[str]) -> None:
        """End idle actors of other stages that hold what this stage needs."""
        kind = self._kind(planned)
        for name in names:
            alone = max_actors_with_others(planned, self.nodes[name], ())
            for actor in [a for a in self.actors.values() if a.node == name and a.kind != kind]:
                beside = max_actors_with_others(planned, self.nodes[name], [actor.kind.resources])
                if beside < alone:
                    self.end(actor)

    def _start(self, planned: PlannedStage, node: NodeFacts) -> None:
        self._last_actor += 1
        handle = self._launcher.start(
            str(self._last_actor),
            planned.resources,
            node=node,
            runtime_env=planned.runtime_env,
            options={"num_cpus": 0},  # stages take turns, and the run has reserved its CPUs
        )
        actor = PoolActor(self._last_actor, handle, node.node_id, self._kind(planned))
        self.actors[actor.number] = actor
        self._inbox.expect(handle.ready, Subject("start", actor.number))

    def set_up(self, actor: PoolActor, planned: PlannedStage) -> None:
        """Set a stage up, unless the actor is still starting: then it can be killed at once."""
        if actor.kind != self._kind(planned):
            return
        index = planned.index
        if actor.is_up and index not in actor.ready and actor.setting_up is None:
            actor.setting_up = index
            self._inbox.expect(actor.handle.set_up((index, index)), Subject("setup", actor.number))

    # Calls

    def call(
        self,
        actor: PoolActor,
        planned: PlannedStage,
        ranges: list[StoredRange],
        blame: Blame | None,
    ) -> None:
        self._last_call += 1
        call = ActorCall(self._last_call, ranges, sum(map(len, ranges)))
        actor.calls[call.number] = call
        step = (planned.index, planned.index)
        spans = [(tasks.start, tasks.stop) for tasks in ranges]
        refs = [tasks.stored.ref for tasks in ranges]
        subject = Subject("call", actor.number, call.number)
        if planned.fans_out:
            self._inbox.expect_stream(actor.handle.stream(step, blame, spans, refs), subject)
        else:
            pending = actor.handle.run(step, blame, spans, refs)
            self._inbox.expect(pending.result, subject, pending.outputs)

    # End

    def release(self, planned: PlannedStage) -> None:
        """Tear down a stage that is not needed any more, and end actors that only run it."""
        for actor in self.of(planned):
            if actor.kind.stage is not None:
                self.end(actor)
            elif planned.index in actor.ready:
                actor.ready.discard(planned.index)
                ref = actor.handle.tear_down(planned.index)
                self._inbox.expect(ref, Subject("teardown", actor.number))

    def end(self, actor: PoolActor) -> None:
        """Let an actor tear down and end."""
        if actor.end_deadline is not None:
            return
        if not actor.is_up:
            self.remove(actor)
            return
        self.changes += 1
        actor.end_deadline = time.monotonic() + _TEARDOWN_S
        self._inbox.expect(actor.handle.end(), Subject("end", actor.number))

    def remove(self, actor: PoolActor) -> None:
        """Kill an actor, dead or alive, and ignore its further messages."""
        self.changes += 1
        self.actors.pop(actor.number, None)
        actor.handle.kill()
        kinds: tuple[Any, ...] = ("start", "setup", "teardown", "end")
        subjects = {Subject(kind, actor.number) for kind in kinds}
        self._inbox.forget(subjects | {Subject("call", actor.number, n) for n in actor.calls})

    def check(self) -> None:
        """Kill actors that do not end in time; warn of those that do not start."""
        now = time.monotonic()
        for actor in list(self.actors.values()):
            if actor.end_deadline is not None and now > actor.end_deadline:
                self.remove(actor)
            elif not actor.is_up and not actor.has_warned and now - actor.started > _WARN_START_S:
                actor.has_warned = True
                LOG.warning(
                    "actor pool: actor %d has been waiting for %.0f s to start on node %s: others "
                    "hold what it needs there, or its environment takes long",
                    actor.number, now - actor.started, actor.node[:8],
                )  # fmt: skip

    def end_all(self, abort_timeout_s: float | None = None) -> list[tuple[str, CallResult]]:
        """End all actors, and kill those that take too long; return their last results.

        With `abort_timeout_s` their current calls are interrupted.
        """
        import ray

        self._inbox.forget_all()
        timeout_s = _TEARDOWN_S if abort_timeout_s is None else abort_timeout_s
        refs: dict[Any, str] = {}
        try:
            for actor in self.actors.values():
                if abort_timeout_s is not None and actor.calls:
                    actor.handle.abort()
                if actor.is_up:
                    refs[actor.handle.end()] = str(actor.number)
            if refs:
                ray.wait(list(refs), num_returns=len(refs), timeout=timeout_s)
            results = [(worker, _result_of(ref)) for ref, worker in refs.items()]
            return [(worker, result) for worker, result in results if result is not None]
        finally:
            for actor in self.actors.values():
                actor.handle.kill()
            self.actors.clear()


def _result_of(ref: Any) -> CallResult | None:
    import ray

    try:
        result: CallResult = ray.get(ref, timeout=0)
    except ray.exceptions.RayError:  # it died, or takes too long
        return None
    return result
