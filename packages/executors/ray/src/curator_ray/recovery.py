"""Recovery from lost workers: crash history of tasks, and sources that run again."""

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING

from curator_core import AnyTask, PlannedStage
from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import Blame
from curator_core.model.lineage import SourceKey, source_of
from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.reports import Keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class CrashHistory:
    """Which tasks killed workers: in this run, and in the earlier run that it resumes."""

    def __init__(self, run: "RemoteRun") -> None:
        self._run = run
        self._deaths = Blame()
        self._earlier: dict[str, Blame] = {}

    def add_source(self, source: AnyTask) -> None:
        """Take over what the earlier run recorded about this source."""
        blame = self._run.earlier_blame(source)
        if blame is not None and _is_relevant(blame):
            self._earlier[next(iter(source.lineage))[0]] = blame

    def blame_for(self, keys: Keys) -> Blame | None:
        """Return what a worker has to know about the tasks of these sources."""
        earlier = [self._earlier[key[0]] for key in keys if key[0] in self._earlier]
        if not earlier:
            return self._deaths if _is_relevant(self._deaths) else None
        merged = Blame()
        for blame in (self._deaths, *earlier):
            for part in fields(Blame):
                getattr(merged, part.name).update(getattr(blame, part.name))
        return merged

    def record_crash(self, status: StageStatus, reason: str, weight: float) -> None:
        if status.complete:
            self._deaths.record_crash(status.stage_index, status.task_ids, reason, weight)
        else:
            self._deaths.suspect_all(status.stage_index)

    def quarantine(self, stage_index: int, task_id: str, reason: str) -> None:
        """Set a task aside, unless a task made from it is known to be the culprit."""
        for (_, charged), deaths in self._deaths.deaths.items():
            is_descendant = charged == task_id or charged.startswith(f"{task_id}.")
            if is_descendant and deaths >= ATTEMPTS_BEFORE_QUARANTINE:
                return
        self._deaths.deaths[stage_index, task_id] = ATTEMPTS_BEFORE_QUARANTINE
        self._deaths.reasons[stage_index, task_id] = reason


def _is_relevant(blame: Blame) -> bool:
    return bool(blame.deaths or blame.suspected_stages or blame.passed)


class SourceReruns:
    """Voids attempts at sources, and keeps the tasks of the next attempts until they are taken."""

    def __init__(self, run: "RemoteRun") -> None:
        self._run = run
        self._tasks: list[AnyTask] = []
        self.attempts: dict[str, int] = {}
        """The attempt that counts, for each source that was run again."""

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def take(self) -> list[AnyTask]:
        """Return the sources to run again, each of them once."""
        tasks, self._tasks = self._tasks, []
        return tasks

    def rerun(self, keys: Iterable[SourceKey], reason: str) -> None:
        """Void these attempts at their sources, and start new ones."""
        for source_id, attempt in keys:
            if attempt < self.attempts.get(source_id, attempt):
                continue  # void already
            self._restart(source_id, reason)

    def rerun_mixed(self) -> None:
        """Rerun sources whose outputs were refused because a void attempt was mixed in."""
        for source_id in self._run.take_mixed_sources():
            self._restart(source_id, "it was mixed with a source that is run again")

    def fail_sources(self, keys: Keys, reason: str, stage: PlannedStage) -> list[AnyTask]:
        """Fail these sources, rerun others that share outputs with them; return what to emit."""
        self.rerun(keys, reason)
        failed = {key[0] for key in keys}
        emitted: list[AnyTask] = []
        for task in [t for t in self._tasks if source_of(t.lineage) in failed]:
            self._tasks.remove(task)
            emitted += self._run.fail_source(source_of(task.lineage), reason, stage)
        return emitted

    def _restart(self, source_id: str, reason: str) -> None:
        for task in self._run.restart_source(source_id, reason):
            [(member, attempt)] = task.lineage
            self.attempts[member] = attempt
            self._tasks = [one for one in self._tasks if source_of(one.lineage) != member]
            self._tasks.append(task)
