"""Repeating: sources that are run again, since something of them was lost on the way."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from curator_core import AnyTask, PlannedStage
from curator_core.model.lineage import SourceKey, source_of
from curator_core.model.reports import Keys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class Repeats:
    """Voids attempts at sources, and keeps the tasks that begin others until they are taken."""

    def __init__(self, run: "RemoteRun") -> None:
        self._run = run
        self._tasks: list[AnyTask] = []
        self.attempts: dict[str, int] = {}
        """Which attempt at each source that was run again counts from now on."""

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def take(self) -> list[AnyTask]:
        """The sources that are to be run again, each told once."""
        tasks, self._tasks = self._tasks, []
        return tasks

    def run_again(self, keys: Iterable[SourceKey], reason: str) -> None:
        """Void these attempts at their sources, and begin others."""
        for source_id, attempt in keys:
            if attempt < self.attempts.get(source_id, attempt):
                continue  # that was done already
            self._begin(source_id, reason)

    def run_mixed_again(self) -> None:
        """Those whose outputs were refused, for they were mixed with a void attempt."""
        for source_id in self._run.take_mixed_sources():
            self._begin(source_id, "it was mixed with a source that is run again")

    def give_up(self, keys: Keys, reason: str, stage: PlannedStage) -> list[AnyTask]:
        """Fail these sources, and run others again that were bound to them; outputs to show."""
        self.run_again(keys, reason)
        doomed = {key[0] for key in keys}
        shown: list[AnyTask] = []
        for task in [t for t in self._tasks if source_of(t.lineage) in doomed]:
            self._tasks.remove(task)
            shown += self._run.fail_source(source_of(task.lineage), reason, stage)
        return shown

    def _begin(self, source_id: str, reason: str) -> None:
        for task in self._run.restart_source(source_id, reason):
            [(member, now)] = task.lineage
            self.attempts[member] = now
            self._tasks = [one for one in self._tasks if source_of(one.lineage) != member]
            self._tasks.append(task)
