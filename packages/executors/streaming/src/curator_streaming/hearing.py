"""Hearing: what workers say, and what their silence means, as events for the scheduler."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from curator_core.errors import CuratorError, StageError, reason_of
from curator_core.local.shared_status import StageStatus
from curator_core.model.reports import CallReport
from curator_core.model.usage import RECYCLED
from curator_ray.answers import Answer
from curator_ray.deaths import Death, is_death
from curator_ray.inboxes import Came
from curator_ray.logs import Relay
from curator_ray.suspicions import Suspicions

from curator_streaming.accounts import Accounts, Final
from curator_streaming.crews import Crew, Member, Subject
from curator_streaming.scheduling import events
from curator_streaming.scheduling.actions import Dispatch
from curator_streaming.scheduling.parcels import Parcel, Piece
from curator_streaming.scheduling.steps import StepSpec
from curator_streaming.stores import Store, size_of
from curator_streaming.suspicions import in_hand

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class Hearing:
    """Turns answers, deaths and losses into `news`; what ends the run stands in `failure`.

    `misses_node`: a worker died with its node, so nobody is to be started there any more.
    """

    def __init__(
        self,
        run: "RemoteRun",
        steps: list[StepSpec],
        crew: Crew,
        store: Store,
        accounts: Accounts,
        known: Suspicions,
    ) -> None:
        self.news: list[events.Event] = []
        self.failure: CuratorError | None = None
        self.misses_node = False
        self.setup_errors: dict[int, CuratorError] = {}
        self._run = run
        self._lasts = {spec.first: spec.last for spec in steps}
        self._stages = crew.stages
        self._crew = crew
        self._store = store
        self._accounts = accounts
        self._known = known
        self._relay = Relay(run.add_worker_output)
        self._last_reason = "died"
        self._kinds: dict[str, Callable[[Member, Came[Subject]], None]] = {
            "hello": self._greeted,
            "prepare": self._prepared,
            "call": self._called,
            "drop": self._dropped,
            "look": self._was_there,
            "end": lambda member, _: self.gone(member),
        }

    def hear(self, came: Came[Subject]) -> None:
        member = self._crew.members.get(came.subject.worker)
        if member is None:
            return
        if isinstance(came.told, Answer):
            self._relay.pass_on(str(member.number), came.told.lines, came.told.output)
        if came.error is not None and came.subject.kind != "end":
            self._broken(member, came.subject, came.error)
        else:
            self._kinds[came.subject.kind](member, came)

    # What workers say

    def _greeted(self, member: Member, _: Came[Subject]) -> None:
        member.is_up = True
        if member.leaving:
            return
        if member.first is None:
            self.news.append(events.WorkerUp(_now(), member.number))
        else:
            self._crew.prepare(member, self._lasts[member.first])

    def _prepared(self, member: Member, came: Came[Subject]) -> None:
        answer = came.told
        assert member.first is not None
        if answer.error is not None:
            self._could_not_set_up(member, member.first, answer.error)
            return
        member.warm.add(member.first)
        member.rss = answer.rss_bytes
        self.news.append(events.WorkerUp(_now(), member.number))
        self.news.append(
            events.SetUpMeasured(_now(), member.number, member.first, answer.setup_seconds)
        )

    def _dropped(self, member: Member, came: Came[Subject]) -> None:
        member.rss = came.told.rss_bytes

    def _was_there(self, member: Member, _: Came[Subject]) -> None:
        member.is_looked_at = False

    def _called(self, member: Member, came: Came[Subject]) -> None:
        answer: Answer = came.told
        call = member.calls.get(came.subject.call)
        if call is None:
            return
        if answer.error is not None:
            del member.calls[call.call]
            if answer.setup_seconds == 0.0:  # it did not get that far
                self._could_not_set_up(member, call.first, answer.error)
            elif self.failure is None:
                self.failure = answer.error
        elif answer.broken_off:
            del member.calls[call.call]
            self._void_what_it_gave(member, call, "it was broken off")
            self.news.append(events.CallFailed(_now(), call.call, "broken off"))
        else:
            self._note_setup(member, call, answer)
            self._take(member, call, came)

    def _note_setup(self, member: Member, call: Dispatch, answer: Answer) -> None:
        grown = max(0, answer.rss_bytes - member.rss) if member.rss else 0
        member.rss = answer.rss_bytes
        if call.first in member.warm or not answer.setup_seconds:
            return
        member.warm.add(call.first)
        self.news.append(
            events.SetUpMeasured(_now(), member.number, call.first, answer.setup_seconds, grown)
        )

    def _take(self, member: Member, call: Dispatch, came: Came[Subject]) -> None:
        """Outputs, and what a call reports at its end."""
        answer: Answer = came.told
        is_last = call.last == len(self._stages) - 1
        outputs: tuple[Parcel, ...] = ()
        keys = self._store.keys_of(call.pieces)
        done = None if answer.report is None else _Done(answer.report)
        if len(answer):
            parcel = self._store.keep(came.parcel, answer, member.node)
            outputs = (parcel,)
            if is_last:
                self._store.release(parcel.handle)
        if is_last:
            ref = came.parcel if len(answer) else None
            self._accounts.final(Final(ref, size_of(answer), keys, answer.report))
        elif answer.report is not None:
            self._accounts.report(answer.report, keys)
        seconds = member.gave.pop(call.call, 0.0) + answer.seconds
        if done is None:
            member.gave[call.call] = seconds
            self.news.append(events.CallGave(_now(), call.call, outputs))
            return
        del member.calls[call.call]
        positions = {
            self._stages[position].index: position for position in range(call.first, call.last + 1)
        }
        self.news.append(
            events.CallDone(
                _now(),
                call.call,
                outputs,
                seconds=seconds,
                waited=answer.waited,
                stage_seconds=done.seconds_of(positions),
                fanned_out=done.fanned_out(positions),
                rss=answer.rss_bytes,
            )
        )

    def _could_not_set_up(self, member: Member, first: int, error: CuratorError) -> None:
        """The worker is of no use; others try, a few times."""
        self.setup_errors[first] = error
        member.failed_at = first
        self._crew.let_end(member, "setup", str(error))

    # What their silence means

    def gone(self, member: Member) -> None:
        """A worker has ended as it was asked to."""
        if member.why.startswith(RECYCLED):
            self._run.record_worker_loss(str(member.number), RECYCLED)
        self._crew.remove(member)
        kind = member.leaving or "stopped"
        self.news.append(
            events.WorkerDown(_now(), member.number, member.why, kind, first=member.failed_at)
        )

    def killed(self, member: Member, reason: str) -> None:
        """It hangs, and nothing but force ends it."""
        death = member.host.death(TimeoutError(reason))
        self._lost(member, replace(death, reason=reason))

    def node_gone(self, node: str) -> None:
        for member in [m for m in self._crew.members.values() if m.node == node]:
            self._run.record_worker_loss(str(member.number), "was on a node that is gone")
            self._crew.remove(member)
            for call in member.calls.values():
                self._void_what_it_gave(member, call, "its node is gone")

    def reason_for(self, _: Piece) -> str:
        return f"its worker {self._last_reason}"

    def _broken(self, member: Member, subject: Subject, error: Exception) -> None:
        import ray

        if is_death(error):
            self._died(member, error)
        elif subject.kind == "call" and isinstance(error, ray.exceptions.ObjectLostError):
            self._lost_objects(member, member.calls.pop(subject.call), error)
        else:
            self.failure = StageError(
                f"worker {member.number} failed in a way that no stage is to blame for: "
                f"{reason_of(error)}",
                detail=str(error),
            )

    def _died(self, member: Member, error: Exception) -> None:
        if member.leaving and not member.calls:
            self.gone(member)
            return
        self._lost(member, member.host.death(error))

    def _lost(self, member: Member, death: Death) -> None:
        reason = death.told
        self._last_reason = reason
        at = death.note.stage_index if death.note else None
        self._run.add_worker_output(str(member.number), death.output)
        self._run.record_worker_loss(str(member.number), reason, at)
        culprit = next(iter(member.calls.values()), None)
        note = death.note
        suspects: tuple[Piece, ...] = ()
        kind: events.DownKind = "died"
        first = None
        is_innocent = "node that is gone" in reason
        self.misses_node = self.misses_node or is_innocent
        if note is not None and not note.task_ids and note.complete:
            kind, first = "setup", culprit.first if culprit else member.first
        elif note is not None and culprit is not None:
            self._known.record_crash(note, f"its worker {reason}", death.weight)
            suspects = tuple(in_hand(note, self._store.ids_of(culprit.pieces)))
            is_innocent = is_innocent or (culprit.condemned and bool(suspects))
        for call in member.calls.values():
            self._void_what_it_gave(member, call, reason)
        self._crew.remove(member)
        self.news.append(
            events.WorkerDown(
                _now(),
                member.number,
                f"a worker {reason}{_while_set_up(kind, note, self._run)}",
                kind,
                culprit=culprit.call if culprit else None,
                suspects=suspects,
                innocent=is_innocent,
                first=first,
                weight=death.weight,
            )
        )

    def _lost_objects(self, member: Member, call: Dispatch, error: Exception) -> None:
        """What the call was to work on is gone with its node: those sources begin anew."""
        reason = f"its data was lost ({type(error).__name__})"
        self._accounts.repeats.run_again(self._store.keys_of(call.pieces), reason)
        self.news.append(events.CallFailed(_now(), call.call, reason, lost=True))

    def _void_what_it_gave(self, member: Member, call: Dispatch, reason: str) -> None:
        """A call that had given some of its outputs would give them a second time."""
        if call.call in member.gave:
            self._accounts.repeats.run_again(
                self._store.keys_of(call.pieces), f"its worker {reason}"
            )


class _Done:
    """What the scheduler is told of a report, read before the run takes the report over."""

    def __init__(self, report: CallReport) -> None:
        counts = report.counts
        self._seconds = {index: of.seconds for index, of in counts.items()}
        self._grown = {index: of.tasks_out - of.tasks_in for index, of in counts.items()}

    def seconds_of(self, positions: dict[int, int]) -> dict[int, float]:
        return {positions[i]: spent for i, spent in self._seconds.items() if i in positions}

    def fanned_out(self, positions: dict[int, int]) -> int | None:
        """The first stage that gave more tasks than it took."""
        grown = (positions[i] for i, more in self._grown.items() if more > 0 and i in positions)
        return min(grown, default=None)


def _while_set_up(kind: str, note: StageStatus | None, run: "RemoteRun") -> str:
    if kind != "setup" or note is None:
        return ""
    return f" while stage {run.plan.stages[note.stage_index].name!r} was being set up"


def _now() -> float:
    return time.monotonic()
