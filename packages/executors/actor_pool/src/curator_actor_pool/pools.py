"""Pools: the actors of a run, started where there is room, kept as long as they may be of use."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from curator_core import PlannedStage
from curator_core.model.crash_attribution import Blame
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.inbox import Inbox
from curator_ray.resources import eligible_nodes
from curator_ray.worker.handle import WorkerHandle, WorkerLauncher
from curator_ray.worker.messages import CallResult

from curator_actor_pool.lots import Lot, Stored
from curator_actor_pool.places import Kind, room_left, spread

LOG = logging.getLogger("curator_core")

_END_PATIENCE_S = 30.0
"""How long an actor may take to tear down."""

LAST_PATIENCE_S = 15.0
"""How long at the end of a run that was broken off. On a busy machine 5 s are soon over."""

_START_PATIENCE_S = 20.0
"""After how long it is said that an actor does not start."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an answer will be about."""

    kind: Literal["hello", "prepare", "call", "drop", "end"]
    member: int
    call: int = -1


@dataclass(eq=False)
class Call:
    """Tasks that an actor was given. `given` holds what it gave so far."""

    number: int
    lots: list[Lot]
    tasks: int
    given: list[Stored] = field(default_factory=list)
    nbytes: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class Member:
    """One actor."""

    number: int
    host: WorkerHandle
    node: str
    kind: Kind
    calls: dict[int, Call] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)
    """The stages that are set up there."""

    preparing: int | None = None
    is_up: bool = False
    is_told: bool = False
    ended_by: float | None = None
    """It was asked to end, and is waited for no longer than that."""

    began: float = field(default_factory=time.monotonic)


class Pools:
    """All actors that there are, of whichever stage."""

    def __init__(self, hosts: WorkerLauncher) -> None:
        self.members: dict[int, Member] = {}
        self.inbox: Inbox[Subject] = Inbox()
        self.nodes: dict[str, NodeFacts] = {}
        """The nodes that may be used, with what is ours there."""

        self.with_gpus: set[str] = set()
        self._expected: list[NodeFacts] = []
        self.changes = 0
        """Counts whatever may leave room for another actor."""

        self._kinds: dict[int, Kind] = {}
        self._hosts = hosts
        self._numbers = 0
        self._calls = 0

    # Who is there

    def of(self, planned: PlannedStage) -> list[Member]:
        """The actors that may run this stage, those included that are still starting."""
        kind = self._kind(planned)
        return [m for m in self.members.values() if m.kind == kind and m.ended_by is None]

    def ready(self, planned: PlannedStage) -> list[Member]:
        return [m for m in self.of(planned) if planned.index in m.ready]

    def _kind(self, planned: PlannedStage) -> Kind:
        if planned.index not in self._kinds:
            self._kinds[planned.index] = Kind.of(planned)
        return self._kinds[planned.index]

    # Starting and preparing

    def use(self, node: NodeFacts) -> None:
        """This node may be used from now on."""
        self.nodes[node.node_id] = node
        self.changes += 1

    def expect(self, nodes: list[NodeFacts]) -> None:
        """These are not ours yet, but likely to be in a moment."""
        if nodes != self._expected:
            self._expected = nodes
            self.changes += 1

    def staff(self, planned: PlannedStage, most: int, shunned: Iterable[str] = ()) -> None:
        """Have up to `most` actors for a stage, or as many as fit or were asked for."""
        mine = self.of(planned)
        for member in mine:
            self._prepare(member, planned)
        missing = min(most, planned.num_workers or most) - len(mine)
        if missing <= 0:
            return
        nodes = list(self.nodes.values())
        fit = eligible_nodes(planned.resources, nodes, self.with_gpus, self._expected)
        names = [name for name in fit if name not in set(shunned)] or fit
        present = Counter(member.node for member in mine)
        if sum(self._room(planned, name, present) for name in names) < missing:
            self._make_room(planned, names)
        rooms = {name: self._room(planned, name, present) for name in names}
        for name in spread(missing, rooms, present):
            self._start(planned, self.nodes[name])

    def _room(self, planned: PlannedStage, node: str, present: Counter[str]) -> int:
        kind = self._kind(planned)
        others = [m.kind.resources for m in self.members.values()
                  if m.node == node and m.kind != kind and m.ended_by is None]  # fmt: skip
        return room_left(planned, self.nodes[node], others) - present[node]

    def _make_room(self, planned: PlannedStage, names: Sequence[str]) -> None:
        """End actors of other stages, which are idle now, where they hold what this one lacks."""
        kind = self._kind(planned)
        for name in names:
            alone = room_left(planned, self.nodes[name], ())
            for member in [m for m in self.members.values() if m.node == name and m.kind != kind]:
                if room_left(planned, self.nodes[name], [member.kind.resources]) < alone:
                    self.let_end(member)

    def _start(self, planned: PlannedStage, node: NodeFacts) -> None:
        self._numbers += 1
        host = self._hosts.start(
            str(self._numbers),
            planned.resources,
            node=node,
            runtime_env=planned.runtime_env,
            options={"num_cpus": 0},  # stages take turns, and the CPUs of the run are reserved
        )
        member = Member(self._numbers, host, node.node_id, self._kind(planned))
        self.members[member.number] = member
        self.inbox.expect(host.ready, Subject("hello", member.number))

    def greeted(self, member: Member, planned: PlannedStage) -> None:
        member.is_up = True
        if member.kind == self._kind(planned):
            self._prepare(member, planned)

    def _prepare(self, member: Member, planned: PlannedStage) -> None:
        """Before it has greeted it is told nothing: it can then be ended without a word, too."""
        index = planned.index
        if member.is_up and index not in member.ready and member.preparing is None:
            member.preparing = index
            ref = member.host.set_up((index, index))
            self.inbox.expect(ref, Subject("prepare", member.number))

    # Calls

    def dispatch(
        self, member: Member, planned: PlannedStage, lots: list[Lot], blame: Blame | None
    ) -> None:
        self._calls += 1
        call = Call(self._calls, lots, sum(map(len, lots)))
        member.calls[call.number] = call
        step = (planned.index, planned.index)
        spans = [(lot.start, lot.stop) for lot in lots]
        refs = [lot.parcel.ref for lot in lots]
        subject = Subject("call", member.number, call.number)
        if planned.fans_out:
            self.inbox.expect_stream(member.host.stream(step, blame, spans, refs), subject)
        else:
            begun = member.host.run(step, blame, spans, refs)
            self.inbox.expect(begun.result, subject, begun.outputs)

    # Ending

    def release(self, planned: PlannedStage) -> None:
        """This stage is not needed any more: nor are actors of its own, and what it had set up."""
        for member in self.of(planned):
            if member.kind.stage is not None:
                self.let_end(member)
            elif planned.index in member.ready:
                member.ready.discard(planned.index)
                ref = member.host.tear_down(planned.index)
                self.inbox.expect(ref, Subject("drop", member.number))

    def let_end(self, member: Member) -> None:
        """Have it tear down and leave."""
        if member.ended_by is not None:
            return
        if not member.is_up:
            self.remove(member)
            return
        self.changes += 1
        member.ended_by = time.monotonic() + _END_PATIENCE_S
        self.inbox.expect(member.host.end(), Subject("end", member.number))

    def remove(self, member: Member) -> None:
        """It is gone, or is to be gone now: nothing is heard of it any more."""
        self.changes += 1
        self.members.pop(member.number, None)
        member.host.kill()
        kinds: tuple[Any, ...] = ("hello", "prepare", "drop", "end")
        subjects = {Subject(kind, member.number) for kind in kinds}
        self.inbox.forget(subjects | {Subject("call", member.number, n) for n in member.calls})

    def look_after(self) -> None:
        """To be called now and then: for those that do not start, and those that do not end."""
        now = time.monotonic()
        for member in list(self.members.values()):
            if member.ended_by is not None and now > member.ended_by:
                self.remove(member)
            elif not member.is_up and now - member.began > _START_PATIENCE_S:
                self._tell_of_wait(member, now)

    def _tell_of_wait(self, member: Member, now: float) -> None:
        if not member.is_told:
            member.is_told = True
            LOG.warning(
                "actor pool: actor %d has been waiting for %.0f s to start on node %s: others hold "
                "what it needs there, or its environment takes long",
                member.number, now - member.began, member.node[:8],
            )  # fmt: skip

    def end_all(self, last_patience_s: float | None = None) -> list[tuple[str, CallResult]]:
        """Tear all of them down, and leave nobody behind; what they had still to say.

        With `last_patience_s` what they are at is broken off.
        """
        import ray

        self.inbox.forget_all()
        ends: dict[Any, str] = {}
        breaks_off = last_patience_s is not None
        patience = _END_PATIENCE_S if last_patience_s is None else last_patience_s
        try:
            for member in self.members.values():
                if breaks_off and member.calls:
                    member.host.abort()
                if member.is_up:
                    ends[member.host.end()] = str(member.number)
            if ends:
                ray.wait(list(ends), num_returns=len(ends), timeout=patience)
            return [(ends[ref], told) for ref in ends if (told := _said(ref)) is not None]
        finally:
            for member in self.members.values():
                member.host.kill()
            self.members.clear()


def _said(ref: Any) -> CallResult | None:
    import ray

    try:
        told: CallResult = ray.get(ref, timeout=0)
    except ray.exceptions.RayError:  # it died on the way, or takes too long
        return None
    return told
