"""Records of a run: counts per stage, and quarantined items."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from curator_core.model.contents import Contents
from curator_core.model.metrics import NO_METRICS, Metrics, MetricSummary, merge_metrics
from curator_core.model.scores import Scores
from curator_core.model.tasks import AnyTask


@dataclass
class StageCounts:
    """Counts of one stage. For tasks, `tasks_in = tasks_passed + tasks_dropped + tasks_failed`.

    Failed items belong to failed tasks; rejected items were rejected within a task that continued.
    """

    tasks_in: int = 0
    tasks_passed: int = 0
    tasks_dropped: int = 0
    tasks_failed: int = 0
    tasks_out: int = 0
    tasks_retried: int = 0
    items_in: int = 0
    items_out: int = 0
    files_in: int = 0
    """Of the items that came in, those that are files and not records."""
    files_out: int = 0
    items_dropped: int = 0
    items_failed: int = 0
    items_rejected: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    playing_ms: int = 0
    """Playing time of the outputs, if they are videos or recordings."""

    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)
    """Score distributions by name."""
    models: dict[str, int] = field(default_factory=dict)
    """Number of items made with each model, by its name and the digest of its weights."""
    metrics: Metrics = field(default_factory=lambda: NO_METRICS)
    """What the stage itself logged, by name."""
    contents: Contents | None = None
    """Lengths, languages and scores of the records, for stages that read or write them."""

    def add(self, other: "StageCounts") -> None:
        mine = self.__dict__  # hot path: attribute access takes three times as long
        for name, more in other.__dict__.items():
            if more and type(more) is not dict:
                mine[name] += more
        for reason, items in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + items
        for model, items in other.models.items():
            self.add_model(model, items)
        self.add_scores(other.scores)
        self.metrics = merge_metrics(self.metrics, other.metrics)

    def subtract_numbers(self, other: "StageCounts") -> None:
        """Subtract all numbers; reasons, scores, models, metrics and contents stay."""
        for name, less in vars(other).items():
            if isinstance(less, int | float):
                vars(self)[name] -= less

    def add_scores(self, scores_by_name: Mapping[str, Scores]) -> None:
        for name, more in scores_by_name.items():
            self.scores[name] = self.scores[name].plus(more) if name in self.scores else more

    def drop(self, reason: str, items: int) -> None:
        self.items_dropped += items
        self.reasons[reason] = self.reasons.get(reason, 0) + items

    def add_model(self, model: str, items: int) -> None:
        self.models[model] = self.models.get(model, 0) + items

    @property
    def is_balanced(self) -> bool:
        return self.tasks_in == self.tasks_passed + self.tasks_dropped + self.tasks_failed

    @property
    def failures(self) -> int:
        """Failed tasks, and records rejected within tasks that continued."""
        return self.tasks_failed + self.items_rejected

    @property
    def files(self) -> int:
        """Files that the stage listed, read or wrote."""
        return self.files_out or self.files_in

    @property
    def records_in(self) -> int:
        return self.items_in - self.files_in

    @property
    def records_out(self) -> int:
        """Records that the stage returned, or wrote to files."""
        if self.files_out and self.records_in:
            return self.records_in - self.items_not_kept
        return self.items_out - self.files_out

    @property
    def items_not_kept(self) -> int:
        return self.items_dropped + self.items_failed + self.items_rejected

    @property
    def items_received(self) -> int:
        """Records that the stage had to process: for a reader, those in its files."""
        failed = 0 if self.files_in else self.items_failed  # those of a reader are files
        not_kept = self.items_dropped + self.items_rejected + failed
        return max(self.records_in, self.records_out + not_kept)

    def to_json(self) -> dict[str, Any]:
        """Return the counts that are not zero, to keep journal lines short."""
        facts = {name: value for name, value in vars(self).items() if value}
        if self.scores:
            facts["scores"] = {name: one.to_json() for name, one in self.scores.items()}
        if self.contents:
            facts["contents"] = self.contents.to_json()
        if self.metrics:
            facts["metrics"] = {name: one.to_json() for name, one in self.metrics.items()}
        return facts

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Self:
        scores = {name: Scores.from_json(one) for name, one in facts.get("scores", {}).items()}
        metrics = {name: MetricSummary(*one) for name, one in facts.get("metrics", {}).items()}
        measured = facts.get("contents")
        contents = None if measured is None else Contents.from_json(measured)
        return cls(**{**facts, "scores": scores, "metrics": metrics, "contents": contents})


@dataclass(frozen=True)
class QuarantineRecord:
    """A task, or items of one, that failed, with enough data to inspect and retry it.

    `source` names the file, if there is one. Before the failure, `passed` outputs were passed on,
    of `seen` items that the stage yielded: a retry skips those.

    Rejected items are retried as a new task that holds all items that one stage rejected from one
    task. `subtask_id` is its id, and the first of the records stores it in `subtask`.
    """

    task_id: str
    stage: str
    stage_index: int
    reason: str
    source_id: str = ""
    source: str = ""
    where: str = ""
    detail: str = ""
    attempts: int = 1
    items: int = 1
    whole_task: bool = True
    passed: int = 0
    seen: int = 0
    payload: bytes | None = field(default=None, repr=False)
    kind: str = ""
    """Class of the stored task."""

    subtask_id: str = ""
    subtask: bytes | None = field(default=None, repr=False)
    damaged: bool = False
    """Whether the input is at fault, so that retries fail until it is fixed."""

    @property
    def can_be_retried(self) -> bool:
        """Whether enough data was stored for a retry."""
        return self.payload is not None if self.whole_task else bool(self.subtask_id)

    @property
    def is_worth_retrying(self) -> bool:
        """Whether a retry may succeed."""
        return self.can_be_retried and not self.damaged


def kind_of(task_class: type[AnyTask]) -> str:
    """Return the name of a task class, the same in every process."""
    return f"{task_class.__module__}:{task_class.__qualname__}"


def payload_of(task: AnyTask) -> bytes | None:
    """Return a task as bytes for a retry, or None if it cannot be stored."""
    try:
        return task.to_payload()
    except (TypeError, ValueError):
        return None
