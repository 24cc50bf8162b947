"""Setbacks: actors that die and stages that do not come up, and what that costs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from curator_core import AnyTask, PlannedStage
from curator_core.errors import CuratorError, StageError
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.reports import Keys
from curator_ray.recovery import CrashHistory, SourceReruns
from curator_ray.worker.deaths import WorkerDeath

from curator_actor_pool.lots import Line, Lot, keys_of
from curator_actor_pool.pools import Call, Member, Pools

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun

_ATTEMPTS = 3
_ATTEMPTS_WHERE_SOME_CAME_UP = 15


class Setbacks:
    """Keeps the account of deaths for the whole run; nothing of what was at work is lost."""

    def __init__(
        self, run: "RemoteRun", pools: Pools, known: CrashHistory, repeats: SourceReruns
    ) -> None:
        self.shunned: dict[int, set[str]] = {}
        """The nodes on which a stage did not come up."""

        self._run = run
        self._pools = pools
        self._known = known
        self._repeats = repeats
        self._failed: dict[int, int] = {}
        """How often in a row each stage did not come up."""

        self._shown: list[AnyTask] = []

    def shown(self) -> list[AnyTask]:
        """Outputs that may be shown, since what they were bound to was given up."""
        shown, self._shown = self._shown, []
        return shown

    def came_up(self, planned: PlannedStage) -> None:
        self._failed[planned.index] = 0

    # Stages that do not come up

    def could_not_set_up(
        self,
        member: Member,
        planned: PlannedStage,
        reason: str,
        error: CuratorError | None = None,
        *,
        is_killed: bool = False,
    ) -> None:
        """Others try, on other nodes if there are any, a few times.

        One that was killed, maybe from outside, before the stage ran says little about either.
        """
        index = planned.index
        if not is_killed:
            self.shunned.setdefault(index, set()).add(member.node)
        failed = self._failed[index] = self._failed.get(index, 0) + 1
        is_patient = is_killed or bool(self._pools.ready(planned))
        if failed >= (_ATTEMPTS_WHERE_SOME_CAME_UP if is_patient else _ATTEMPTS):
            raise error or StageError(
                f"the run cannot go on: {planned.name} could not be set up {failed} times; last: "
                f"{reason}; what is finished is kept, and the same command does the rest",
                stage=planned.name,
            )

    # Deaths

    def died(self, member: Member, death: WorkerDeath, planned: PlannedStage, line: Line) -> None:
        """Put back what it had; what it was at is tried alone from now on."""
        was_ready = planned.index in member.ready
        calls = list(member.calls.values())
        at = death.status.stage_index if death.status else None
        self._run.add_worker_output(str(member.number), death.output)
        self._run.record_worker_loss(str(member.number), death.message, at)
        self._pools.remove(member)
        is_innocent = "node that is gone" in death.reason
        note = death.status
        is_at_setup = note is not None and note.complete and not note.task_ids
        culprit = None if is_innocent or is_at_setup else _culprit(calls, death)
        for call in reversed(calls):
            line.put_back(call.lots if call is not culprit else self._blamed(call, death, planned))
        if not is_innocent and (is_at_setup or not (calls or was_ready)):
            doing = f" while stage {planned.name!r} was being set up" if is_at_setup else ""
            is_killed = death.weight < 1 and not is_at_setup
            self.could_not_set_up(
                member, planned, f"a worker {death.message}{doing}", is_killed=is_killed
            )

    def _blamed(self, call: Call, death: WorkerDeath, planned: PlannedStage) -> list[Lot]:
        """What the call was about, with those under suspicion each alone."""
        reason = f"its worker {death.message}"
        noted: set[str] = set()
        if death.status is not None:
            self._known.record_crash(death.status, reason, death.weight)
            noted = set(death.status.task_ids)
        blamed: list[Lot] = []
        for lot in call.lots:
            for one in lot.one_by_one():
                if noted and one.ids[0] not in noted:
                    blamed.append(one)
                elif one.is_condemned:  # it was told not to run it, and died
                    self._give_up(one, reason, planned)
                else:
                    weight = death.weight if call.tasks == 1 else 0.0
                    blamed.append(self._suspected(one, weight, reason, planned))
        return blamed

    def _suspected(self, lot: Lot, weight: float, reason: str, planned: PlannedStage) -> Lot:
        deaths = lot.deaths + weight
        is_condemned = deaths >= ATTEMPTS_BEFORE_QUARANTINE
        if is_condemned:
            self._known.quarantine(planned.index, lot.ids[0], reason)
        return Lot(lot.parcel, lot.start, lot.stop, True, deaths, is_condemned)

    def _give_up(self, lot: Lot, reason: str, planned: PlannedStage) -> None:
        self._shown += self._repeats.fail_sources(keys_of([lot]), reason, planned)

    def lost(self, keys: Keys, error: Exception) -> None:
        """Data is gone with its node: those sources begin anew."""
        self._repeats.rerun(keys, f"its data was lost ({type(error).__name__})")


def _culprit(calls: list[Call], death: WorkerDeath) -> Call | None:
    """The call that it was at: the one that its note is about, or the first it was given."""
    noted = set(death.status.task_ids) if death.status else set()
    return next(_with(calls, noted), calls[0] if calls else None)


def _with(calls: list[Call], noted: set[str]) -> Iterator[Call]:
    for call in calls:
        if any(not noted.isdisjoint(lot.ids) for lot in call.lots):
            yield call
