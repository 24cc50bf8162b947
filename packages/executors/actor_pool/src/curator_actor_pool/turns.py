"""Turns: one stage at work on all that waits for it, until nothing is left."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_core import PlannedStage
from curator_core.errors import StageError, reason_of
from curator_core.model.reports import CallReport, Keys
from curator_core.model.snapshot import Queue
from curator_ray.inbox import Received
from curator_ray.recovery import CrashHistory
from curator_ray.worker.deaths import WorkerDeath, is_worker_death
from curator_ray.worker.messages import CallResult
from curator_ray.worker.output import LogRelay

from curator_actor_pool.chunking import Chunks
from curator_actor_pool.lots import Line, Lot, Stored, keys_of
from curator_actor_pool.pools import Member, Pools, Subject
from curator_actor_pool.setbacks import Setbacks

if TYPE_CHECKING:
    from curator_actor_pool.tending import Tending

_PATIENCE_S = 0.1
_STAFF_EVERY_S = 0.5


@dataclass(frozen=True)
class Finished:
    """A call that is done: what it gave is whole."""

    keys: Keys
    report: CallReport
    given: list[Stored]
    nbytes: int


@dataclass(frozen=True)
class Crew:
    """What every turn of a run works with."""

    pools: Pools
    setbacks: Setbacks
    known: CrashHistory
    tending: "Tending"
    relay: LogRelay
    slots: int


class Turn:
    """One stage's turn. Whoever takes `calls()` may take its time."""

    def __init__(
        self,
        planned: PlannedStage,
        lots: Iterable[Lot],
        chunks: Chunks,
        crew: Crew,
        *,
        is_first: bool,
    ) -> None:
        self._planned = planned
        self._is_first = is_first
        self._line = Line(lots)
        self._chunks = chunks
        self._crew = crew
        self._pools = crew.pools
        self._kinds: dict[str, Callable[[Member, Received[Subject]], Finished | None]] = {
            "hello": self._greeted,
            "prepare": self._prepared,
            "call": self._called,
            "drop": lambda _, __: None,
            "end": lambda member, _: self._pools.remove(member),
        }
        self._staffed_at = 0.0
        self._staffed_with = -1
        self.nbytes_in = self._line.nbytes

    def calls(self) -> Iterator[Finished]:
        """Calls as they are done, in whichever order."""
        while self._line.tasks or any(m.calls for m in self._pools.members.values()):
            line = self._line
            self._crew.tending.show(self._planned, Queue(line.tasks, int(line.nbytes)))
            self._crew.tending.look(self._planned, self._gone)
            if self._is_first and self._crew.tending.is_stopping:
                self._line.clear()  # what has not begun stays undone
            self._feed()
            for came in self._pools.inbox.take(_PATIENCE_S):
                finished = self._hear(came)
                if finished is not None:
                    yield finished

    # Giving work out

    def _feed(self) -> None:
        """A free actor gets the next; some more where calls are so short that it would wait."""
        if not self._line.tasks:
            return
        self._staff()
        ready = self._pools.ready(self._planned)
        ahead = self._chunks.ahead(self._crew.slots, self._line.tasks, len(ready))
        for calls in range(ahead):
            for member in [m for m in ready if len(m.calls) == calls]:
                if not self._line.tasks:
                    return
                self._give(member, len(ready))

    def _staff(self) -> None:
        """Where somebody came or went since the last time; now and then in any case."""
        now = time.monotonic()
        is_new = self._pools.changes != self._staffed_with
        if not is_new and now - self._staffed_at < _STAFF_EVERY_S:
            return
        under_way = sum(len(m.calls) for m in self._pools.members.values())
        wanted = self._chunks.calls(self._line.tasks) + under_way
        shunned = self._crew.setbacks.shunned.get(self._planned.index, ())
        self._pools.staff(self._planned, wanted, shunned)
        self._staffed_at, self._staffed_with = now, self._pools.changes

    def _give(self, member: Member, actors: int) -> None:
        count = self._chunks.tasks(self._line.tasks, self._line.nbytes, actors)
        keeps_order = self._planned.stage.works_on_batches and self._planned.batch_size > 1
        lots = self._line.take(count, "" if keeps_order else member.node)
        blame = self._crew.known.blame_for(keys_of(lots))
        self._pools.dispatch(member, self._planned, lots, blame)

    # What actors say

    def _hear(self, came: Received[Subject]) -> Finished | None:
        member = self._pools.members.get(came.subject.member)
        if member is None:
            return None
        if isinstance(came.value, CallResult):
            self._crew.relay.forward(str(member.number), came.value.lines, came.value.output)
        if came.error is not None:
            self._broken(member, came.subject, came.error)
            return None
        return self._kinds[came.subject.kind](member, came)

    def _greeted(self, member: Member, _: Received[Subject]) -> None:
        self._pools.greeted(member, self._planned)

    def _prepared(self, member: Member, came: Received[Subject]) -> None:
        index, member.preparing = member.preparing, None
        assert index is not None
        if came.value.error is None:
            member.ready.add(index)
            if index == self._planned.index:
                self._crew.setbacks.came_up(self._planned)
            else:  # it had begun with that before its turn was over
                self._pools.greeted(member, self._planned)
            return
        self._pools.let_end(member)
        if index == self._planned.index:
            error = came.value.error
            self._crew.setbacks.could_not_set_up(member, self._planned, str(error), error)

    def _called(self, member: Member, came: Received[Subject]) -> Finished | None:
        answer: CallResult = came.value
        call = member.calls[came.subject.call]
        if answer.error is not None:
            raise answer.error
        if answer.aborted:
            del member.calls[call.number]
            self._line.put_back(call.lots)
            return None
        call.seconds += answer.seconds
        if len(answer):
            call.nbytes += answer.nbytes
            call.given.append(
                Stored(came.outputs, answer.task_ids, answer.sources, answer.nbytes, member.node)
            )
        if answer.report is None:
            return None
        del member.calls[call.number]
        self._chunks.learn(call.tasks, call.seconds, call.nbytes)
        return Finished(keys_of(call.lots), answer.report, call.given, call.nbytes)

    # What their silence means

    def _broken(self, member: Member, subject: Subject, error: Exception) -> None:
        import ray

        if is_worker_death(error):
            if member.ended_by is not None and not member.calls:
                self._pools.remove(member)
            else:
                self._gone(member, member.host.explain_death(error))
        elif subject.kind == "call" and isinstance(error, ray.exceptions.ObjectLostError):
            self._crew.setbacks.lost(keys_of(member.calls.pop(subject.call).lots), error)
        else:
            raise StageError(
                f"worker {member.number} failed in a way that no stage is to blame for: "
                f"{reason_of(error)}",
                detail=str(error),
            )

    def _gone(self, member: Member, death: WorkerDeath) -> None:
        self._crew.setbacks.died(member, death, self._planned, self._line)
