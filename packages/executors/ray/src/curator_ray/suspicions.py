"""Suspicions: which tasks are known to have killed workers, told to whoever gets them next."""

from dataclasses import fields
from typing import TYPE_CHECKING

from curator_core import AnyTask
from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import Blame
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.reports import Keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class Suspicions:
    """One account of deaths for the run, and what a source brought along from an earlier one."""

    def __init__(self, run: "RemoteRun") -> None:
        self._run = run
        self._deaths = Blame()
        self._brought: dict[str, Blame] = {}

    def welcome(self, source: AnyTask) -> None:
        if (blame := self._run.earlier_blame(source)) is not None and _says_something(blame):
            self._brought[next(iter(source.lineage))[0]] = blame

    def for_call(self, keys: Keys) -> Blame | None:
        """What is to be known about the tasks of these sources."""
        told = [self._brought[key[0]] for key in keys if key[0] in self._brought]
        if not told:
            return self._deaths if _says_something(self._deaths) else None
        merged = Blame()
        for blame in (self._deaths, *told):
            for part in fields(Blame):
                getattr(merged, part.name).update(getattr(blame, part.name))
        return merged

    def record_crash(self, note: StageStatus, reason: str, weight: float) -> None:
        if note.complete:
            self._deaths.record_crash(note.stage_index, note.task_ids, reason, weight)
        else:
            self._deaths.suspect_all(note.stage_index)

    def condemn(self, stage_index: int, task_id: str, reason: str) -> None:
        """Set a task aside, unless one that was made of it is known to be the killer."""
        for (_, charged), deaths in self._deaths.deaths.items():
            is_of_it = charged == task_id or charged.startswith(f"{task_id}.")
            if is_of_it and deaths >= ATTEMPTS_BEFORE_QUARANTINE:
                return
        self._deaths.deaths[stage_index, task_id] = ATTEMPTS_BEFORE_QUARANTINE
        self._deaths.reasons[stage_index, task_id] = reason


def _says_something(blame: Blame) -> bool:
    return bool(blame.deaths or blame.suspected_stages or blame.passed)
