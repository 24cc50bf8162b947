"""Base classes of clip filters: a score, a decision, and a reason."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from curator_core import Dropped, attach_model
from curator_core.model.scores import Scores, attach_scores

from curator_video.analysis.frame_stage import FrameStage
from curator_video.tasks import Clip, ScoreValue


@dataclass
class ClipRuleSet(FrameStage, ABC):
    """Score clips by several measures, and drop a clip that breaks one of several rules."""

    score_only: bool = field(default=False, kw_only=True)
    """Keep all clips and only add the scores."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the clips that would be kept, and keep those that would be dropped."""

    fractions: ClassVar[Sequence[str]] = ()
    """Names of options that must be between 0 and 1."""

    def check(self) -> Iterator[str]:
        yield from self.check_fractions()

    def check_fractions(self) -> Iterator[str]:
        """Report percentages such as 50: with them, the filter would never drop anything."""
        for name in self.fractions:
            if not 0 <= (value := getattr(self, name)) <= 1:
                yield f"{name} is {value:g}, but must be between 0 and 1"

    @abstractmethod
    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        """Return the scores by the names they get on the clip."""

    @abstractmethod
    def broken_rule(self, scores: dict[str, Any]) -> str | None:
        """Return the reason to drop a clip with these scores, or None if it breaks no rule."""

    def model_used(self) -> str | None:
        """Return the model behind the scores with the digest of its weights, or None."""
        return None

    def process(self, task: Clip) -> Clip | Dropped:
        scores = self.scores(task)
        scored = task.with_scores(**scores)
        reason = None if self.score_only else self._drop_reason(scores)
        for name, score in scores.items():
            record_score(scored, name, score, is_kept=reason is None)
        if (model := self.model_used()) is not None:
            attach_model(scored, model)
        return scored if reason is None else Dropped(reason, records=scored)

    def _drop_reason(self, scores: dict[str, ScoreValue]) -> str | None:
        reason = self.broken_rule(scores)
        if not self.invert:
            return reason
        return f"not what {self.name} drops" if reason is None else None


class ClipFilter(ClipRuleSet):
    """Keep clips whose score is acceptable; drop the others with a reason."""

    score_field: str
    """Name of the score on the clip."""

    @abstractmethod
    def score(self, clip: Clip) -> ScoreValue:
        """Return the score of a clip."""

    @abstractmethod
    def keeps(self, score: Any) -> bool:
        """Return whether a clip with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why clips are dropped, as shown in reports."""

    def reason_for(self, score: Any) -> str:
        """Return why a clip with this score is dropped, if limits have different reasons."""
        return self.reason

    def scores(self, clip: Clip) -> dict[str, ScoreValue]:
        return {self.score_field: self.score(clip)}

    def broken_rule(self, scores: dict[str, Any]) -> str | None:
        score = scores[self.score_field]
        return None if self.keeps(score) else self.reason_for(score)


def record_score(clip: Clip, name: str, score: ScoreValue, *, is_kept: bool) -> None:
    """Count a score for the report, as kept or dropped. Texts are ignored."""
    if isinstance(score, int | float):
        values = [float(score)]
        attach_scores(clip, name, Scores.of(values) if is_kept else Scores.of([], values))
