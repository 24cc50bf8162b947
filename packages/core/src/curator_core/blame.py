"""Blame: which task killed or hung the worker that held it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from curator_core.outcomes import AnyTask
from curator_core.policies import ATTEMPTS_BEFORE_QUARANTINE


@dataclass
class Blame:
    """What earlier attempts taught about single tasks. Travels to the worker that tries again.

    A batch that died is under suspicion: its tasks are run one by one next time. A task that was
    alone when its worker died is charged with that death.
    """

    deaths: dict[tuple[int, str], int] = field(default_factory=dict)
    reasons: dict[tuple[int, str], str] = field(default_factory=dict)
    suspected_stages: set[int] = field(default_factory=set)
    passed: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Outputs (and all things given) of a task that had gone on before an earlier run ended."""

    def charge(self, stage_index: int, task_ids: Sequence[str], reason: str) -> None:
        """`task_ids` were in the hands of stage `stage_index` when the worker died."""
        for task_id in task_ids:
            key = (stage_index, task_id)
            self.deaths[key] = self.deaths.get(key, 0) + (len(task_ids) == 1)
            self.reasons[key] = reason

    def suspect_all(self, stage_index: int) -> None:
        """The batch was too large to be noted: everything in that stage is run one by one."""
        self.suspected_stages.add(stage_index)

    def is_suspect(self, stage_index: int, tasks: Sequence[AnyTask]) -> bool:
        if stage_index in self.suspected_stages:
            return True
        return any((stage_index, task.task_id) in self.deaths for task in tasks)

    def condemned(self, stage_index: int, task: AnyTask) -> str | None:
        """Why this task must not be run again, if it must not."""
        key = (stage_index, task.task_id)
        if self.deaths.get(key, 0) < ATTEMPTS_BEFORE_QUARANTINE:
            return None
        return self.reasons[key]
