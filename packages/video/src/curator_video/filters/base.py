"""Base class of clip filters: score first, then decide unless only scores are requested."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from curator_core import Dropped, attach_model
from curator_core.model.scores import Scores, attach_scores

from curator_video.analysis.frame_stage import FrameStage
from curator_video.tasks import Clip, Score


@dataclass
class ClipFilter(FrameStage):
    """Score clips, and drop those that are not good enough."""

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
    def scores(self, clip: Clip) -> dict[str, Score]:
        """Return the scores by the names they get on the clip."""

    @abstractmethod
    def reason(self, scores: dict[str, Score]) -> str | None:
        """Return why a clip with these scores is dropped, or None if it is kept."""

    def model_used(self) -> str | None:
        """Return the model behind the scores with the digest of its weights, or None."""
        return None

    def process(self, task: Clip) -> Clip | Dropped:
        scores = self.scores(task)
        scored = task.with_scores(**scores)
        reason = None if self.score_only else self._drop_reason(scores)
        for name, score in scores.items():
            if isinstance(score, int | float):
                values = [float(score)]
                attach_scores(
                    scored, name, Scores.of(values) if reason is None else Scores.of([], values)
                )
        if (model := self.model_used()) is not None:
            attach_model(scored, model)
        return scored if reason is None else Dropped(reason, records=scored)

    def _drop_reason(self, scores: dict[str, Score]) -> str | None:
        reason = self.reason(scores)
        if not self.invert:
            return reason
        return f"not what {self.name} drops" if reason is None else None


def as_number(score: Score) -> float:
    """Return a score that is known to be a number."""
    return float(score or 0.0)
