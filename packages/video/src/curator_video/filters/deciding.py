"""Base class of clip filters: score first, then decide unless only scores are wanted."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core.model.provenance import tell_model
from curator_core.model.scores import Scores, tell_scores
from curator_core.model.tasks import Dropped

from curator_video.clips import Clip, Score
from curator_video.sharing import LookingStage


@dataclass
class ClipFilter(LookingStage):
    """Score clips, and drop those that are not good enough."""

    score_only: bool = field(default=False, kw_only=True)
    """Keep all clips and only add the scores."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the clips that would be kept, and keep those that would be dropped."""

    fractions: ClassVar[Sequence[str]] = ()
    """Names of options that must be between 0 and 1."""

    def check(self) -> Iterator[str]:
        yield from self.wrong_fractions()

    def wrong_fractions(self) -> Iterator[str]:
        """Report percentages such as 50: with them, the filter would never drop anything."""
        for name in self.fractions:
            if not 0 <= (value := getattr(self, name)) <= 1:
                yield f"{name} is {value:g}, but must lie between 0 and 1"

    @abstractmethod
    def scores(self, clip: Clip) -> dict[str, Score]:
        """Return the scores by the names they get on the clip."""

    @abstractmethod
    def reason(self, scores: dict[str, Score]) -> str | None:
        """Return why a clip with these scores is dropped, or None if it is kept."""

    def made_with(self) -> str | None:
        """Return the model behind the scores with the digest of its weights, or None."""
        return None

    def process(self, task: Clip) -> Clip | Dropped:
        scores = self.scores(task)
        scored = task.with_scores(**scores)
        reason = None if self.score_only else self._verdict(scores)
        for name, score in scores.items():
            if isinstance(score, int | float):
                one = [float(score)]
                tell_scores(scored, name, Scores.of(one) if reason is None else Scores.of([], one))
        if (model := self.made_with()) is not None:
            tell_model(scored, model)
        return scored if reason is None else Dropped(reason, records=scored)

    def _verdict(self, scores: dict[str, Score]) -> str | None:
        reason = self.reason(scores)
        if not self.invert:
            return reason
        return f"not what {self.name} drops" if reason is None else None


def number(score: Score) -> float:
    """Return a score that is known to be a number."""
    return float(score or 0.0)
