"""Crash attribution: which task killed or hung the worker that had it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.tasks import AnyTask

FROM_OUTSIDE = 0.5
"""What a death weighs that may have come from outside: SIGKILL and SIGTERM are sent by people and
systems as well, and an innocent task must not be set aside for being there twice."""


@dataclass
class Blame:
    """What earlier attempts taught about single tasks. Travels to the worker that tries again.

    A batch that died is under suspicion: its tasks are run one by one next time. A task that was
    alone when its worker died is charged with that death.
    """

    deaths: dict[tuple[int, str], float] = field(default_factory=dict)
    attempts: dict[tuple[int, str], int] = field(default_factory=dict)
    reasons: dict[tuple[int, str], str] = field(default_factory=dict)
    suspected_stages: set[int] = field(default_factory=set)
    passed: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Outputs (and all things given) of a task that had gone on before an earlier run ended."""

    def charge(
        self, stage_index: int, task_ids: Sequence[str], reason: str, weight: float = 1.0
    ) -> None:
        """`task_ids` were in the hands of stage `stage_index` when the worker died."""
        for task_id in task_ids:
            key = (stage_index, task_id)
            alone = weight if len(task_ids) == 1 else 0.0
            self.deaths[key] = self.deaths.get(key, 0.0) + alone
            self.attempts[key] = self.attempts.get(key, 0) + 1
            self.reasons[key] = reason

    def suspect_all(self, stage_index: int) -> None:
        """The batch was too large to be noted: everything in that stage is run one by one."""
        self.suspected_stages.add(stage_index)

    def is_suspect(self, stage_index: int, tasks: Sequence[AnyTask]) -> bool:
        if stage_index in self.suspected_stages:
            return True
        return any((stage_index, task.task_id) in self.deaths for task in tasks)

    def attempts_at(self, stage_index: int, task: AnyTask) -> int:
        """How many workers have tried this task and died."""
        return self.attempts.get((stage_index, task.task_id), ATTEMPTS_BEFORE_QUARANTINE)

    def condemned(self, stage_index: int, task: AnyTask) -> str | None:
        """Why this task must not be run again, if it must not."""
        key = (stage_index, task.task_id)
        if self.deaths.get(key, 0) < ATTEMPTS_BEFORE_QUARANTINE:
            return None
        return self.reasons[key]
