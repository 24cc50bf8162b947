"""Crews: the workers of a run, as the driver of the scheduler holds them."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from curator_core import PlannedStage, Resources
from curator_core.model.crash_attribution import Blame
from curator_ray.facts import NodeFacts
from curator_ray.hosts import Host, Hosts
from curator_ray.inboxes import Inbox
from curator_ray.interrupting import HURRIED_S

from curator_streaming.scheduling.actions import Dispatch, StartWorker
from curator_streaming.scheduling.events import DownKind
from curator_streaming.stores import Store

LOG = logging.getLogger("curator_core")

END_PATIENCE_S = 30.0
"""How long a worker may take to tear down while the run goes on."""

START_PATIENCE_S = 20.0
"""After how long it is said that a worker does not start."""

LOOK_EVERY_S = 1.0
"""How often those are looked in on of whom nothing is heard."""

LAST_PATIENCE_S = 15.0
"""How long at the end of a run that was broken off: a busy machine needs more than a moment."""

_DOUBTFUL_S = 3.0
"""How long for those who were never heard of: nothing is set up before that, nor torn down."""


@dataclass(eq=False)
class Member:
    """One worker."""

    number: int
    host: Host
    node: str
    first: int | None
    calls: dict[int, Dispatch] = field(default_factory=dict)
    """What it has been given and not yet finished, in this order."""

    gave: dict[int, float] = field(default_factory=dict)
    """Calls that have given outputs and go on, with the seconds that they were at work for them."""

    warm: set[int] = field(default_factory=set)
    rss: int = 0
    leaving: DownKind | None = None
    """How its end is to be told, once it has been asked to end."""

    why: str = ""
    ended_by: float = 0.0
    began: float = field(default_factory=time.monotonic)
    is_up: bool = False
    is_told: bool = False
    """Whether it was said that it takes long to start."""

    is_looked_at: bool = False
    """Whether it has been asked for a sign of life, and has not given it yet."""

    failed_at: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What an answer will be about."""

    kind: Literal["hello", "prepare", "call", "drop", "look", "end"]
    worker: int
    call: int = -1


class Crew:
    """Starts workers, hands them calls, and sees to it that each of them ends."""

    def __init__(
        self,
        hosts: Hosts,
        stages: tuple[PlannedStage, ...],
        inbox: Inbox[Subject],
        store: Store,
    ) -> None:
        self.members: dict[int, Member] = {}
        self._hosts = hosts
        self.stages = stages
        self._inbox = inbox
        self._store = store
        self._streams = [planned.fans_out for planned in stages]
        self._shared = _largest(stages)
        self._next_look = 0.0
        self._end_patience_s = END_PATIENCE_S

    def start(self, action: StartWorker, node: NodeFacts) -> None:
        planned = None if action.first is None else self.stages[action.first]
        host = self._hosts.start(
            str(action.worker),
            self._shared if planned is None else planned.resources,
            node=node,
            runtime_env=planned.runtime_env if planned else None,
            options={"num_cpus": 0, "num_gpus": action.grant.gpus},  # the scheduler counts CPUs
        )
        member = Member(action.worker, host, action.node, action.first)
        self.members[action.worker] = member
        self._inbox.expect(host.greeting, Subject("hello", action.worker))

    def prepare(self, member: Member, last: int) -> None:
        assert member.first is not None
        ref = member.host.prepare(self._step(member.first, last))
        self._inbox.expect(ref, Subject("prepare", member.number))

    def dispatch(self, action: Dispatch, blame: Blame | None) -> None:
        member = self.members.get(action.worker)
        if member is None:
            return
        member.calls[action.call] = action
        step = self._step(action.first, action.last)
        spans = [(piece.start, piece.stop) for piece in action.pieces]
        refs = [self._store[piece.handle].ref for piece in action.pieces]
        subject = Subject("call", action.worker, action.call)
        if any(self._streams[action.first : action.last + 1]):
            self._inbox.expect_flow(member.host.flow(step, blame, spans, refs), subject)
        else:
            call = member.host.run(step, blame, spans, refs)
            self._inbox.expect(call.answer, subject, call.parcel)

    def drop(self, worker: int, first: int, last: int) -> None:
        member = self.members.get(worker)
        if member is None:
            return
        member.warm.discard(first)
        for position in range(last, first - 1, -1):
            ref = member.host.drop(self.stages[position].index)
            self._inbox.expect(ref, Subject("drop", worker))

    def let_end(self, member: Member, kind: DownKind, why: str) -> None:
        """Have it tear down and leave, after the calls that it has."""
        if member.leaving is None:
            member.leaving, member.why = kind, why
            patience = self._end_patience_s if member.is_up else _DOUBTFUL_S
            member.ended_by = time.monotonic() + patience
            self._inbox.expect(member.host.end(), Subject("end", member.number))

    def hurry(self) -> None:
        """The run was asked to stop, and its time is over: nobody is waited for much longer."""
        self._end_patience_s = HURRIED_S
        latest = time.monotonic() + HURRIED_S
        for member in self.members.values():
            member.ended_by = min(member.ended_by, latest)

    def overdue(self) -> list[Member]:
        """Those that were asked to end and do not. To be called now and then: it looks after all.

        Nothing is heard of a worker that has nothing to do or is held up, not even its death.
        """
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY_S
            for member in self.members.values():
                self._tell_of_wait(member, now)
                if not (member.is_looked_at or member.leaving) and self._is_silent(member):
                    member.is_looked_at = True
                    self._inbox.expect(member.host.look(), Subject("look", member.number))
        return [m for m in self.members.values() if m.leaving and now > m.ended_by]

    def _tell_of_wait(self, member: Member, now: float) -> None:
        waited = now - member.began
        if member.is_up or member.is_told or waited < START_PATIENCE_S:
            return
        member.is_told = True
        stage = "shared" if member.first is None else self.stages[member.first].name
        LOG.warning(
            "streaming: worker %d (%s) has been waiting for %.0f s to start on node %s: others "
            "hold what it needs there, the node is short of memory or CPU, or its environment "
            "takes long",
            member.number, stage, waited, member.node[:8],
        )  # fmt: skip

    def _is_silent(self, member: Member) -> bool:
        calls = (Subject("call", member.number, call) for call in member.calls)
        return member.is_up and all(self._inbox.holds(call) for call in calls)

    def remove(self, member: Member) -> None:
        """It is gone, or is to be gone now: nothing is heard of it any more."""
        self.members.pop(member.number, None)
        member.host.kill()
        kinds: Iterable[Any] = ("hello", "prepare", "drop", "look", "end")
        subjects = {Subject(kind, member.number) for kind in kinds}
        self._inbox.forget(
            subjects | {Subject("call", member.number, call) for call in member.calls}
        )

    def end_all(self, patience_s: float = LAST_PATIENCE_S) -> None:
        """The run is broken off: stop what is at work, tear down, and leave nobody behind."""
        import ray

        self._inbox.forget_all()  # or whoever is held up would never hear of it
        ends, certain = [], []
        for member in self.members.values():
            member.host.break_off()
            ends.append(member.host.end())
            if member.is_up:
                certain.append(ends[-1])
        try:
            for waited, seconds in ((ends, _DOUBTFUL_S), (certain, patience_s - _DOUBTFUL_S)):
                if waited and seconds > 0:
                    ray.wait(waited, num_returns=len(waited), timeout=seconds)
        finally:
            for member in self.members.values():
                member.host.kill()
            self.members.clear()

    def _step(self, first: int, last: int) -> tuple[int, int]:
        return self.stages[first].index, self.stages[last].index


def _largest(stages: tuple[PlannedStage, ...]) -> Resources:
    """What a shared worker tells its stages that they were granted."""
    cpus = [p.resources.cpus for p in stages if not p.resources.needs_gpu]
    return Resources(cpus=max(cpus, default=1.0))
