"""Crash attribution: find the task that crashed or hung its worker."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from curator_core.model.policies import ATTEMPTS_BEFORE_QUARANTINE
from curator_core.model.tasks import AnyTask

OUTSIDE_KILL_WEIGHT = 0.5
"""Weight of a death that may have an outside cause: people and systems also send SIGKILL and
SIGTERM, and an innocent task must not be quarantined for running during two of them.
"""


@dataclass
class Blame:
    """What earlier attempts revealed about single tasks. Sent to the worker that retries.

    If a worker dies with a batch, the tasks of the batch are suspects and run one by one next time.
    If it dies with a single task, the task is charged with the death.
    """

    deaths: dict[tuple[int, str], float] = field(default_factory=dict)
    attempts: dict[tuple[int, str], int] = field(default_factory=dict)
    reasons: dict[tuple[int, str], str] = field(default_factory=dict)
    suspected_stages: set[int] = field(default_factory=set)
    passed: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Outputs, and all yielded items, that a task passed on in earlier attempts."""

    def record_crash(
        self, stage_index: int, task_ids: Sequence[str], reason: str, weight: float = 1.0
    ) -> None:
        """Charge tasks that were in stage `stage_index` when the worker died."""
        for task_id in task_ids:
            key = (stage_index, task_id)
            alone = weight if len(task_ids) == 1 else 0.0
            self.deaths[key] = self.deaths.get(key, 0.0) + alone
            self.attempts[key] = self.attempts.get(key, 0) + 1
            self.reasons[key] = reason

    def suspect_all(self, stage_index: int) -> None:
        """Run all tasks of a stage one by one, because the batch was too large to be recorded."""
        self.suspected_stages.add(stage_index)

    def is_suspect(self, stage_index: int, tasks: Sequence[AnyTask]) -> bool:
        if stage_index in self.suspected_stages:
            return True
        return any((stage_index, task.task_id) in self.deaths for task in tasks)

    def attempts_of(self, stage_index: int, task: AnyTask) -> int:
        """Return how many workers died with this task."""
        return self.attempts.get((stage_index, task.task_id), ATTEMPTS_BEFORE_QUARANTINE)

    def quarantine_reason(self, stage_index: int, task: AnyTask, step_index: int) -> str | None:
        """Return why this task must not run again, or None if it may.

        `step_index` is the first stage of the step: if several stages are fused in it, a death in
        their common pass counts for each of them in which the task dies again.
        """
        key = (stage_index, task.task_id)
        deaths = self.deaths.get(key, 0)
        if deaths and step_index != stage_index:
            deaths += self.deaths.get((step_index, task.task_id), 0)
        return self.reasons[key] if deaths >= ATTEMPTS_BEFORE_QUARANTINE else None
